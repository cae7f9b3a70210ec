"""`python -m search import`."""

from __future__ import annotations

import json

from search.__main__ import main
from search.workload import Workload

PROBLEM = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return {result}

rows = 4

def get_inputs():
    return [torch.randn(rows, 8)]

def get_init_inputs():
    return []
"""


def test_workloads_are_written_and_the_report_says_so(tmp_path, capsys):
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "double.py").write_text(PROBLEM.format(result="x * 2"))
    (tmp_path / "set" / "chosen.py").write_text(PROBLEM.format(result="x[x > 0]"))
    assert main(["import", str(tmp_path / "set"), "--json", "--out", str(tmp_path / "out")]) == 0
    told = json.loads(capsys.readouterr().out)
    kinds = {item["name"]: item["kind"] for item in told["items"]}
    assert kinds == {"double": "workload", "chosen": "probe"}
    workload = Workload.model_validate_json((tmp_path / "out" / "double.workload.json").read_text())
    assert workload.hash == next(item["hash"] for item in told["items"] if item["name"] == "double")
    assert told["report"]["asked"][0]["where"] == "chosen.py"


def test_a_second_import_writes_the_same_bytes(tmp_path):
    source, out = tmp_path / "double.py", tmp_path / "out"
    source.write_text(PROBLEM.format(result="x * 2"))
    main(["import", str(source), "--out", str(out)])
    before = (out / "double.workload.json").read_bytes()
    assert main(["import", str(source), "--out", str(out)]) == 0
    assert (out / "double.workload.json").read_bytes() == before


def test_what_cannot_be_taken_is_told_with_its_line(tmp_path, capsys):
    source = tmp_path / "broken.py"
    source.write_text("class Model(:\n    pass\n\ndef get_inputs(): pass\n")
    assert main(["import", str(source)]) == 1
    assert "broken.py:1: not Python" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    source = tmp_path / "set.jsonl"
    source.write_text(json.dumps({"name": "\x1b[31m", "axes": {}, "reference": "def run(): \x1b"}))
    assert main(["import", str(source)]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_missing_path_is_told(tmp_path, capsys):
    assert main(["import", str(tmp_path / "nowhere")]) == 1
    assert "neither a file nor a folder" in capsys.readouterr().err
