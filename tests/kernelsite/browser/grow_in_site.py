"""Puts a finished search of rows into a running site's database; prints its id. Run with `KERNELSITE_VAR` set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "kernelsite" / "searches")]
os.environ["DJANGO_SETTINGS_MODULE"] = "kernelsite.settings"


def main():
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.utils import timezone
    from grown import grow

    from kernelsite.accounts.models import Team
    from kernelsite.catalog.models import LibraryVersion, WorkloadVersion
    from kernelsite.searches.launch import Options, Order, new_key
    from kernelsite.searches.models import Search
    from search.settings import Budget

    order = Order(
        Team.objects.first(),
        get_user_model().objects.first(),
        WorkloadVersion.objects.filter(slug="softmax").latest("version"),
        LibraryVersion.objects.filter(slug="core").latest("version"),
        Options(budget=Budget(evaluations=400)),
        key=new_key(),
    )
    settings = order.settings
    search = Search.objects.create(
        team=order.team,
        created_by=order.user,
        title="Grown for the detail pages",
        workload=order.workload,
        library=order.library,
        idempotency_key=order.key,
        settings=settings.dump(),
        strategy=settings.strategy,
        agent=settings.agent,
        language=settings.language,
        device_class=settings.device_class,
        seed=settings.seed,
        evaluations_cap=400,
        state="finished",
        finished_at=timezone.now(),
    )
    structures = grow(search, 60)
    print(search.pk, structures[-1].key, structures[-1].best_candidate)


if __name__ == "__main__":
    main()
