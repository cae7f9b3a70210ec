"""`SECURITY.md` answers each fault of web and API; the tests that it names must be there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TEXT = (ROOT / "SECURITY.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_of_the_table_exists(file, name):
    path = (ROOT if file.startswith("tests/") else HERE) / file
    assert re.search(rf"^(async )?def {name}\(", path.read_text(), re.MULTILINE)


def test_each_fault_is_answered():
    rows = {int(number): line for number, line in re.findall(r"^\| F(\d+) \|(.*)\|$", TEXT, re.MULTILINE)}
    assert sorted(rows) == list(range(135, 176))
    assert all(line.rsplit("|", 1)[-1].strip() for line in rows.values())
