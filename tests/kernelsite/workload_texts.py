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
