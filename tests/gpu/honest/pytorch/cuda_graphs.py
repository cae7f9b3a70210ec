# expect: PASSED
# A graph for each pair of tensors, which reads and writes these very tensors.
from __future__ import annotations

import torch

graphs = {}


def run(x, y):
    key = (x.data_ptr(), y.data_ptr())
    if key not in graphs:
        torch.softmax(x, -1, out=y)
        torch.cuda.synchronize()
        graphs[key] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[key]):
            torch.softmax(x, -1, out=y)
    graphs[key].replay()
