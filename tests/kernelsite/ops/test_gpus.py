"""GPUs are found by the driver's program, and a machine without one simply has none."""

from __future__ import annotations

import pytest

from kernelsite.ops.gpus import Gpu, gpus


@pytest.fixture
def answer(tmp_path, monkeypatch):
    def install(script):
        program = tmp_path / "nvidia-smi"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/bin")

    return install


def test_each_gpu_has_a_number_and_a_class(answer):
    answer("echo '0, NVIDIA H200'; echo '1, NVIDIA RTX PRO 6000'")
    assert gpus() == [Gpu(0, "h200"), Gpu(1, "rtx-pro-6000")]


def test_a_driver_that_fails_has_no_gpus(answer):
    answer("echo 'No devices were found'; exit 6")
    assert gpus() == []


def test_a_machine_without_the_program_has_no_gpus(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert gpus() == []
