"""The judge of kernels: builds, checks, guards and times candidates it does not trust.

How one evaluation goes:

1. `app.py` (queue) or `serve.py` (stdio) hands requests to `runner.py`, which holds no GPU library, owns
   the deadlines of last resort and restarts everything after a fault of our own.
2. `zygote.py` has torch imported and only forks: the judge once, cells as the judge asks for them.
3. A cell (`cells.py` on the judge's side) is a sandbox: `warden.py` is its first process, `sandbox.py` and
   `seccomp.py` are its walls, `inmate.py` what runs behind them: a contender, a compiler, a screen. A compiled
   candidate is started by exec of `launcher.cpp` (`launch.py`), so that no Python shares its process.
4. `judge.py` answers requests by `evaluate.py`, which walks the stages: `intake.py`, `shop.py` (contract and
   build), `correctness.py`, `timing.py`. Inputs, golden outputs and the baseline of a workload are its
   `yardstick.py`; an oracle cell makes them (`specimen.py`, `custom.py`), `comparators/` say what is right, and
   `mutants/` whether a workload would notice wrong. `baselines/` times what a candidate is compared with besides.
   On a GPU a Triton candidate's host code runs in a cell without a device (`tracing.py` here, `cuda/tracer.py` there); its
   launch plan is replayed by our own code (`replayer.py`, `cuda/replay.py`). Host code that no plan can hold is
   rehearsed (`rehearsal.py`) and runs as a contender. `promotion.py` examines a would-be best.
5. `contender.py` sends `pass` and takes `done`; `clock.py` turns that into times. What is special about a
   device (buffers, cores, caches, leases) is in `devices/`.
"""

from __future__ import annotations
