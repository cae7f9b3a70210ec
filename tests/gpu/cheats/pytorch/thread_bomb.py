# expect: REWARD_HACK, RUNTIME_ERROR, COMPILE_ERROR
# Keeps hundreds of threads.
from __future__ import annotations

import threading
import time

import torch

for _ in range(200):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()


def run(x, y):
    torch.softmax(x, -1, out=y)
