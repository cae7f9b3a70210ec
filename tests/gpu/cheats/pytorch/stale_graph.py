# expect: INCORRECT_NUMERICAL
# Records a graph of its first call and replays it for every other.
from __future__ import annotations

import torch

graph = None


def run(x, y):
    global graph
    if graph is None:
        torch.softmax(x, -1, out=y)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            torch.softmax(x, -1, out=y)
    graph.replay()
