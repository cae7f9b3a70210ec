"""Texts of a small workload as a person writes them."""

from __future__ import annotations

SOFTMAX = """\
name: rows
title: "Softmax of rows"
op_type: softmax
tags: [row_reduction]
axes:
  M: {type: var}
  N: {type: var}
inputs:
  x: {shape: [M, N], dtype: float32}
outputs:
  y: {shape: [M, N], dtype: float32}
cases:
- name: main
  axes: {M: 64, N: 256}
- name: odd
  axes: {M: 3, N: 33}
  timed: false
tolerance: {scale: 32, relative: 1e-4, frobenius: 1e-4}
"""
REFERENCE = """\
import torch


def run(x):
    return torch.softmax(x, dim=-1)
"""
PICKS = b"""import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.nonzero(torch.ones(6)).float(), torch.softmax(x, -1)


def get_inputs():
    return [torch.rand(64, 128)]


def get_init_inputs():
    return []
"""
"""A KernelBench file whose shapes only a run tells."""
OPERATOR = {
    "name": "aten.relu.default",
    "args": [{"shape": [64, 128], "dtype": "float32"}],
    "outputs": [{"shape": [64, 128], "dtype": "float32"}],
    "calls": 2.0,
    "seconds": 3e-4,
}
"""What a worker tells of an operator of a program."""
