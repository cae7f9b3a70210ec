"""`docs/complaints.md` names tests; they must be there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TEXT = (HERE.parents[1] / "docs" / "complaints.md").read_text()
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(test_\w+)`", TEXT)))


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(file, name):
    assert re.search(rf"^(async )?def {name}\(", (HERE / file).read_text(), re.MULTILINE)


def test_each_of_the_25_is_answered():
    rows = {int(number): line for number, line in re.findall(r"^\| (\d+) \|(.*)\|$", TEXT, re.MULTILINE)}
    assert sorted(rows) == list(range(1, 26))
    assert all(line.rsplit("|", 1)[-1].strip() for line in rows.values())
