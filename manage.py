#!/usr/bin/env python
"""Django's command line: `up`, `demo`, `run_search`, `migrate` and the rest."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kernelsite.settings")
    execute_from_command_line(sys.argv)
