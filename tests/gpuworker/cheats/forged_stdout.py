# INCORRECT_NUMERICAL: prints a perfect record instead of computing.
from __future__ import annotations

import json
import sys


def run(x, y):
    record = {"event": "record", "id": "0", "token": "", "evaluation": {"status": "PASSED", "median_us": 0.1}}
    for stream in (sys.stdout, sys.stderr):
        print(json.dumps(record), file=stream, flush=True)
