from __future__ import annotations

import json

import pytest
from library_texts import ACTION, ACTION_FILE, FILES, HEAD, NAME

from kernelsite.catalog import library_process, library_report


def broken(old, new, file=ACTION_FILE):
    return FILES | {file: FILES[file].replace(old, new)}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (broken("family: numerics", "family: magic"), (ACTION_FILE, "action", "poly", "family", 3)),
        (broken("exp: polynomial", "exp: table"), (ACTION_FILE, "action", "poly", "sets", 7)),
        (broken("trait softmax", "trait nonsense"), (ACTION_FILE, "action", "poly", "when.0", 6)),
        (broken("    contract: No call of the library.\n", ""), (ACTION_FILE, "action", "poly", "contract", 2)),
        (broken("sets: {", "sets: {{"), (ACTION_FILE, "", "", "", 8)),
        (broken("initial: libm", "initial: none", "01_decisions.yaml"), ("01_decisions.yaml", "decision", "exp", "(all)", 2)),
    ],
)  # fmt: skip
def test_a_problem_names_file_entry_field_and_line(files, expected):
    problem = library_process.report(files)["problems"][0]
    assert tuple(problem[part] for part in ("file", "kind", "name", "field", "line")) == expected


def test_a_sound_library_says_where_its_actions_apply():
    report = library_report.check(FILES, NAME)
    assert not report.problems
    assert report.document["name"] == NAME
    assert library_process.report(FILES)["applies"] == report.applies
    assert set(report.applies) == {"poly"}


def test_the_shipped_library_applies_where_its_kernels_are():
    from search.library import shipped_library

    found = library_process.applies(shipped_library())
    assert "triton" in found["online_softmax"]["softmax"]
    assert "gemm" not in " ".join(found["online_softmax"])


def test_another_name_and_invisible_characters_are_problems():
    files = FILES | {"00_library.yaml": HEAD, ACTION_FILE: ACTION.replace("bounds.", "bounds\u202e.")}
    report = library_report.check(files, "other")
    assert [(one.file, one.line, one.field) for one in report.problems] == [
        (ACTION_FILE, 9, ""),
        ("00_library.yaml", None, "name"),
    ]
    assert report.document is None
    assert "U+202E" in report.problems[0].text


@pytest.mark.parametrize(
    ("field", "escape"), [("title", "\\u202e"), ("notes", "\\ud800"), ("contract", "\\0"), ("id", "\\0"), ("when", "\\ud800")]
)  # fmt: skip
def test_escapes_hide_nothing_and_can_be_stored(field, escape):
    """PostgreSQL refuses zero characters and halves of characters in JSON."""
    lines = [
        line for line in ACTION.split("\n") if not line.strip().removeprefix("- ").startswith(f"{field}:")
    ]
    lines.insert(1, f'  - {field}: "a{escape}"')
    text = "\n".join(lines).replace("  - id: poly", "    id: poly")
    report = library_report.check(FILES | {ACTION_FILE: text}, NAME)
    assert report.problems
    assert report.document is None
    stored = json.dumps(report.dump())
    assert "\\u0000" not in stored
    assert "\\ud800" not in stored


def test_requirements_without_end_are_stopped(monkeypatch):
    """Paths through 40 layers of requirements are too many to walk; the check is ended, the site lives."""
    monkeypatch.setattr(library_report, "DEADLINE_S", 3.0)
    layers = [[f"a{layer}_{n}" for n in range(3)] for layer in range(40)]
    actions = ["actions:"]
    for here, following in zip(layers, [*layers[1:], []], strict=True):
        for name in here:
            lines = ACTION.split("\n")[2:-1]
            actions += [f"  - id: {name}", *lines, f"    requires: [{', '.join(following)}]"]
    report = library_report.check(FILES | {ACTION_FILE: "\n".join(actions)}, NAME)
    assert "within the limits" in report.problems[0].text
