from __future__ import annotations

import pytest

from search.formats.format import FormatError
from search.formats.single_file import candidate_of_file
from search.records import Language


@pytest.mark.parametrize(
    ("name", "text", "language"),
    [
        ("a.cpp", '// KNOBS {"TILE": 8}\nextern "C" int run() { return 0; }\n', Language.CPP),
        ("a.cu", '// KNOBS {"TILE": 8}\n__global__ void k() {}\n', Language.CUDA),
        ("a.py", "import torch\nKNOBS = {'TILE': 8}\n\ndef run(x, y):\n    pass\n", Language.PYTORCH),
        ("a.py", "from triton import language as tl\nKNOBS = {'TILE': 8}\n", Language.TRITON),
    ],
)
def test_language_and_knobs_are_read(name, text, language):
    program = candidate_of_file(name, text.encode())
    assert (program.language, program.knobs) == (language, {"TILE": 8})
    assert program.sources[0].content == text


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.exe", b"MZ", "ends in"),
        ("a.py", b"", "empty"),
        ("a.py", b"x = 1\n\xff", "UTF-8"),
        ("a.py", "x = 1 # \u202e".encode(), "a.py:1"),
        ("a.py", b"KNOBS = {'TILE': [1]}\n", "a.py"),
        ("a.py", b"#" * 300_000, "longer than"),
        ("../a.py", b"x = 1\n", "path"),
    ],
)
def test_what_is_no_program_is_refused(name, content, words):
    with pytest.raises(FormatError, match=words):
        candidate_of_file(name, content)
