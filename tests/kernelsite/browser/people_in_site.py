"""Puts a person into the team of a running site: name, role, password. Run with `KERNELSITE_VAR` set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT)]
os.environ["DJANGO_SETTINGS_MODULE"] = "kernelsite.settings"


def main(name, role, password):
    import django

    django.setup()
    from django.contrib.auth import get_user_model

    from kernelsite.accounts.models import Membership, Team

    user = get_user_model().objects.create_user(name, password=password)
    Membership.objects.create(team=Team.objects.first(), user=user, role=role)


if __name__ == "__main__":
    main(*sys.argv[1:])
