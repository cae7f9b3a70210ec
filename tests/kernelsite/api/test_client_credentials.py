from __future__ import annotations

import stat

import pytest

from kernelsite.api.client import Credentials, CredentialsError
from kernelsite.api.client import credentials as kept

TOKEN = "ks_0123456789"


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    for name in ("KERNELSITE_TOKEN", "KERNELSITE_URL", "KERNELSITE_PLAIN_HTTP"):
        monkeypatch.delenv(name, raising=False)
    file = tmp_path / "deep" / "credentials.json"
    monkeypatch.setenv("KERNELSITE_CREDENTIALS", str(file))
    return file


def test_what_is_kept_is_found_and_readable_by_the_owner_only(file):
    wanted = Credentials("https://kernels.example.org", TOKEN)
    for _ in range(2):
        assert kept.save(wanted) == file
    assert kept.find() == wanted
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(file.parent.iterdir()) == [file]
    assert (kept.forget(), kept.forget()) == (True, False)
    with pytest.raises(CredentialsError, match="ks login"):
        kept.find()


def test_a_file_that_others_can_read_is_refused(file):
    kept.save(Credentials("https://kernels.example.org", TOKEN))
    file.chmod(0o640)
    with pytest.raises(CredentialsError, match="chmod 600"):
        kept.find()


def test_the_environment_goes_before_the_file(file, monkeypatch):
    kept.save(Credentials("https://kernels.example.org", TOKEN))
    monkeypatch.setenv("KERNELSITE_TOKEN", "ks_other")
    assert kept.find() == Credentials(kept.DEFAULT_URL, "ks_other")


def test_a_broken_file_is_told_without_its_content(file):
    kept.save(Credentials("https://kernels.example.org", TOKEN))
    file.write_text(TOKEN)
    with pytest.raises(CredentialsError, match="log in again") as caught:
        kept.find()
    assert TOKEN not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://kernels.example.org", "in the clear"),
        ("ftp://localhost", "no address"),
        ("kernels", "no address"),
    ],
)
def test_addresses_over_which_no_token_goes(url, word, monkeypatch):
    with pytest.raises(CredentialsError, match=word):
        Credentials(url, TOKEN)


def test_the_token_is_in_no_representation():
    assert TOKEN not in repr(Credentials("http://[::1]:8000", TOKEN))
    with pytest.raises(CredentialsError):
        Credentials("http://localhost", "two\nlines")
