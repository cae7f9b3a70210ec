"""Programs that differ only in comments, whitespace, formatting or docstrings are one program."""

from __future__ import annotations

import time

import pytest

from search.agents.llm.duplicates import duplicate_of, normalised, normalised_hash
from search.agents.playbook.writers import write_source
from search.library import compose, shipped_library, shipped_workload
from search.records import SOURCE_LIMIT_BYTES, Candidate, Language, SourceFile

C = """// KNOBS {"TASK": 1}
#include <cstdint>
#define TWO 2  // twice
static int64_t sum(int64_t a, int64_t b) { return a + b; /* plain */ }
extern "C" int run(void** buffers, const int64_t* axes, void* stream) {
  const char* text = "// no comment";
  return int(sum(axes[0], TWO)) - 1'000;
}
"""
PYTHON = '''"""A module."""
KNOBS = {"BLOCK": 128}
import torch


def run(x, y):
    """Copy."""
    y.copy_(x)  # all of it
'''


def _candidate(source: str, language: Language = Language.CPP, **knobs) -> Candidate:
    return Candidate(language=language, sources=(SourceFile(path="kernel", content=source),), knobs=knobs)


SAME = {
    "comments": (Language.CPP, C, C.replace("/* plain */", "").replace("// twice", "// 2")),
    "layout": (Language.CPP, C, C.replace(" { ", "\n{\n\t").replace("; }", ";\n}")),
    "blanks around signs": (Language.CPP, C, C.replace("a + b", "a+b").replace("axes[0]", "axes [ 0 ]")),
    "line ends": (Language.CPP, C, C.replace("\n", "\r\n")),
    "knobs line": (Language.CPP, C, C.replace('{"TASK": 1}', '{"TASK":2}')),
    "python comments": (Language.TRITON, PYTHON, PYTHON.replace("  # all of it", "")),
    "python docstrings": (Language.TRITON, PYTHON, PYTHON.replace('    """Copy."""\n', "")),
    "python layout": (Language.TRITON, PYTHON, PYTHON.replace("(x, y)", "(\n    x,\n    y,\n)")),
    "python knobs": (Language.TRITON, PYTHON, PYTHON.replace("128", "256")),
}

OTHER = {
    "a name": (Language.CPP, C, C.replace("sum", "add")),
    "a number": (Language.CPP, C, C.replace("TWO 2", "TWO 3")),
    "a text": (Language.CPP, C, C.replace("no comment", "nocomment")),
    "a directive that swallows a line": (Language.CPP, C, C.replace("2  // twice\n", "2 \\\n")),
    "an operator": (Language.CPP, "a = b - -c;", "a = b --c;"),
    "a comment that is none": (Language.CPP, 'x = "/*"; y = 1; z = "*/";', 'x = "/*"; y = 2; z = "*/";'),
    "python indentation": (
        Language.TRITON,
        "if a:\n    b()\n    c()\n",
        "if a:\n    b()\nc()\n",
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_same(name):
    language, one, other = SAME[name]
    assert normalised_hash(_candidate(one, language)) == normalised_hash(_candidate(other, language))


@pytest.mark.parametrize("name", OTHER)
def test_other(name):
    language, one, other = OTHER[name]
    assert normalised_hash(_candidate(one, language)) != normalised_hash(_candidate(other, language))


def test_knob_values_tell_programs_apart():
    assert normalised_hash(_candidate(C, TASK=1)) != normalised_hash(_candidate(C, TASK=2))


def test_the_first_step_with_the_program_is_found():
    known = {4: _candidate(C, TASK=1), 2: _candidate(C, TASK=2), 9: _candidate(C, TASK=1)}
    assert duplicate_of(_candidate("// again\n" + C, TASK=1), known) == 4
    assert duplicate_of(_candidate(C, TASK=8), known) is None


def test_structures_of_the_playbook_stay_apart():
    workload, library = shipped_workload("softmax"), shipped_library()
    actions = [(), ("vector_lanes",), ("stored_exponentials",), ("online_softmax",), ("row_groups",)]
    sources = [
        write_source(compose(workload, library, taken, Language.CPP), workload, Language.CPP).content
        for taken in actions
    ]
    assert len({normalised(Language.CPP, source) for source in sources}) == len(actions)


@pytest.mark.parametrize("piece", ['R"(', "/*", '"', "#", "'", "\\\n", "(", "   "])
@pytest.mark.parametrize("language", [Language.CPP, Language.TRITON])
def test_hostile_sources_end_in_time(piece, language):
    started = time.monotonic()
    normalised(language, piece * (SOURCE_LIMIT_BYTES // len(piece)))
    assert time.monotonic() - started < 5
