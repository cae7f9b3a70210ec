"""Programs that are only there to keep the reader busy, or to fill its memory."""

from __future__ import annotations

import time

import pytest

from search.formats import FORMATS, FormatError

PROBLEM = """
import torch
import torch.nn as nn

n = 1

class Model(nn.Module):
    def forward(self, x):
{body}
        return x

{more}

def get_inputs():
    return [torch.randn(n, 4)]

def get_init_inputs():
    return []
"""


def read(*lines, more=""):
    """Probe or refusal of a model with these lines, in words; empty when it was read."""
    body = "\n".join(f"        {line}" for line in lines)
    start = time.monotonic()
    try:
        collection, _ = FORMATS["kernelbench"].parse({"a.py": PROBLEM.format(body=body, more=more).encode()})
    except FormatError as error:
        return str(error)
    finally:
        assert time.monotonic() - start < 5.0
    return collection.probes[0].problem if collection.probes else ""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["for i in range(500):", "    for j in range(500):", "        i = j"], "more than 60000 steps"),
        (["y = [0]", "for i in range(60):", "    y = y + y"], "a long sequence"),
        (["y = (0,)", "y = y * 10**9"], "a long sequence"),
        (["y = 2", "for i in range(400):", "    y = y * y"], "a number out of range"),
        (["y = 1" + " + 1" * 400], "deeper than 120 levels"),
        (["y = " + "-" * 150 + "1"], "deeper than 120 levels"),
        (["y = x.split(1)"] * 2 + ["y = torch.zeros(10**9).split(1)"], "parts of different lengths"),
        (["x = torch.zeros(*[2] * 40)"], "the shape"),
        (["x = self.again(x)"], "the attribute `again`"),
        (["x = deep(x)"], "nest too deep"),
    ],
)
def test_reading_stops(lines, words):
    more = "def deep(x):\n    return deep(x)\n"
    assert words in read(*lines, more=more)


def test_a_formula_that_doubles_does_not_grow():
    assert read("y = x.shape[0]", "for i in range(300):", "    y = y * y") == ""


def test_names_of_the_reader_are_no_names_of_the_program():
    for name in (
        "__import__('os')",
        "open('/etc/passwd')",
        "eval('1')",
        "().__class__()",
        "x.__class__()",
        "getattr(x, 'a')",
    ):
        assert read(f"y = {name}") != ""


def test_too_many_programs_at_once_are_refused():
    files = {f"p{n}.py": b"class Model: pass\ndef get_inputs(): pass\n" for n in range(1001)}
    with pytest.raises(FormatError, match="more than 1000 programs at once"):
        FORMATS["kernelbench"].parse(files)
