"""Measured spaces: every recorded structure of a workload with its knob grid, on a real device.

`landscape.py` holds the record, `files.py` reads and writes it, `answer.py` is the device class
`recorded:<name>`, `design.py` and `recorder.py` make one with a device worker.
"""
