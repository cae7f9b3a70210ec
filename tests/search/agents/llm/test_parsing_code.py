"""Which code block of an answer counts: a corpus of answers as models give them, one file each.

The first line of a file says `#! language reading word`: what it must be read as, and a word that only the program
that counts holds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from search.agents.llm.parsing import LABELS, Reading, after_thinking, blocks, read_program
from search.records import SOURCE_LIMIT_BYTES, Language

REPLIES = sorted((Path(__file__).parent / "replies").glob("*.txt"))


def test_corpus_is_whole():
    readings = {path.read_bytes().split(b"\n")[0].split()[2].decode() for path in REPLIES}
    assert len(REPLIES) >= 40
    assert readings == {str(reading) for reading in Reading} - {"too_long"}


@pytest.mark.parametrize("path", REPLIES, ids=[path.stem for path in REPLIES])
def test_reply(path):
    head, _, body = path.read_bytes().decode().partition("\n")
    _, language, reading, word = head.split()
    found = read_program(body, Language(language))
    assert found.reading == reading
    if found.reading.is_program:
        assert word in found.source
        assert not found.problem
    else:
        assert word == "-"
        assert not found.source
        assert found.problem


def test_a_program_over_the_limit_is_no_program():
    body = 'extern "C" int run(void** b, const int64_t* a, void* s) { return 0; }\n'
    padded = body + "// " + "x" * SOURCE_LIMIT_BYTES
    assert read_program(f"```cpp\n{padded}\n```", Language.CPP).reading is Reading.TOO_LONG


@pytest.mark.parametrize("language", list(Language))
def test_every_language_has_words(language):
    assert LABELS[language]


def test_a_fence_closes_only_with_its_own_sign_and_length():
    found = blocks("~~~~text\n```\n~~~\n~~~~~\nafter\n```\n")
    assert [(block.label, block.complete) for block in found] == [("text", True), ("", False)]
    assert found[0].content == "```\n~~~\n"


def test_thoughts_are_no_answer():
    assert after_thinking("<think>a</think>b<THINKING>c</THINKING>d") == "bd"
    assert after_thinking("a</think>b") == "b"
    assert after_thinking("b<think>never ends") == "b"
    assert after_thinking("if (a < b) think();") == "if (a < b) think();"


def test_long_hostile_answers_are_read_in_time():
    for text in ("```" * 50_000, "`" * 200_000, "<think>" * 20_000, "{" * 100_000, "... rest " * 30_000):
        read_program(f"```cpp\n{text}\n```\n{text}", Language.CPP)
