from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from kernelsite.celery import app

ROOT = Path(settings.BASE_DIR)
SHOW = "import json; from kernelsite import settings as s; print(json.dumps([repr(getattr(s, n)) for n in {names!r}]))"


def seen(tmp_path, *names, **environment):
    """Settings by name, as a fresh process under that environment sees them."""
    done = run(tmp_path, "-c", SHOW.format(names=names), **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(tmp_path, *arguments, **environment):
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=kept | {"KERNELSITE_VAR": str(tmp_path / "var")} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# What loses or repeats work when it is set otherwise (design/reliability.md, reports B1 to B6) ----------


def test_tasks_are_acknowledged_early_and_never_redelivered_by_the_broker():
    assert app.conf.task_acks_late is False
    assert app.conf.task_reject_on_worker_lost is False
    assert app.conf.worker_cancel_long_running_tasks_on_connection_loss is False
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.broker_transport_options["visibility_timeout"] == 3600


def test_messages_are_json_only_and_there_is_no_result_backend():
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert app.conf.result_backend is None
    assert app.conf.task_ignore_result is True


def test_no_page_reads_results_from_celery():
    for file in (ROOT / "kernelsite").rglob("*.py"):
        assert "AsyncResult" not in file.read_text(), file


def test_control_tasks_are_short_and_agent_tasks_may_be_long():
    from kernelsite.searches.tasks import advance, propose

    assert (app.conf.task_soft_time_limit, app.conf.task_time_limit) == (70, 90)
    assert (advance.soft_time_limit, advance.time_limit) == (70, 90)
    assert propose.soft_time_limit == 600
    assert propose.time_limit > 600


def test_the_pool_is_prefork():
    assert app.conf.worker_pool == "prefork"


# Environment -------------------------------------------------------------------------------------------


def test_the_secret_key_is_made_once_and_private(tmp_path):
    first, second = (seen(tmp_path, "SECRET_KEY") for _ in range(2))
    assert first == second
    assert len(first[0]) > 60
    assert (tmp_path / "var" / "secret_key").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "var").iterdir()] == ["secret_key"]


def test_processes_that_start_together_agree_on_the_secret_key(tmp_path):
    command = [sys.executable, "-c", SHOW.format(names=["SECRET_KEY"])]
    environment = {"PATH": os.environ["PATH"], "KERNELSITE_VAR": str(tmp_path / "var")}
    running = [subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE) for _ in range(4)]
    assert len({process.communicate(timeout=60)[0] for process in running}) == 1


def test_sqlite_takes_the_write_lock_at_the_start_of_a_transaction(tmp_path):
    (config,) = seen(tmp_path, "DATABASES")
    assert "'transaction_mode': 'IMMEDIATE'" in config
    assert "journal_mode=WAL" in config
    assert "'timeout': 20" in config


def test_database_url_names_a_postgresql(tmp_path):
    (config,) = seen(tmp_path, "DATABASES", DATABASE_URL="postgres://ks:pw@db.internal:5433/site")
    assert "django.db.backends.postgresql" in config
    assert "IMMEDIATE" not in config


def test_redis_url_wins_over_the_embedded_server(tmp_path):
    names = ("REDIS_URL", "CELERY_BROKER_URL")
    given = "redis://redis.internal:6379/3"
    assert seen(tmp_path, *names, REDIS_URL=given) == [repr(given)] * 2
    socket = tmp_path / "var" / "redis.sock"
    assert seen(tmp_path, *names) == [f"'unix://{socket}'", f"'redis+socket://{socket}'"]


def test_a_deep_checkout_does_not_break_the_socket(tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    (socket,) = seen(tmp_path, "EMBEDDED_SOCKET", KERNELSITE_VAR=str(deep))
    path = socket.removeprefix("PosixPath('").removesuffix("')")
    assert len(path) < 100
    assert "kernelsite-" in path


def test_lease_lengths_come_from_the_environment(tmp_path):
    assert seen(tmp_path, "KERNELSITE") == ["{}"]
    told = seen(tmp_path, "KERNELSITE", KERNELSITE_DRIVER_LEASE_S="2", KERNELSITE_ATTEMPTS="7")
    assert told == ["{'driver_lease_s': 2.0, 'attempts': 7}"]


# Production ---------------------------------------------------------------------------------------------


def test_check_deploy_is_clean_in_production(tmp_path):
    check = ("manage.py", "check", "--deploy", "--fail-level", "WARNING")
    reached = {"KERNELSITE_HOSTS": "kernels.example", "KERNELSITE_SITE_URL": "https://kernels.example"}
    done = run(tmp_path, *check, KERNELSITE_HTTPS="1", **reached)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


def test_a_star_is_no_host(tmp_path):
    """F138: with it any site could open a live connection as somebody who is logged in here."""
    done = run(tmp_path, "-c", "import kernelsite.settings", KERNELSITE_HOSTS="*")
    assert done.returncode != 0
    assert "KERNELSITE_HOSTS" in done.stderr


def test_check_deploy_complains_without_https(tmp_path):
    done = run(tmp_path, "manage.py", "check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode != 0
    assert "security.W008" in done.stderr


def test_debug_pages_cannot_be_switched_on(tmp_path):
    assert seen(tmp_path, "DEBUG", DEBUG="1", KERNELSITE_DEBUG="1", DJANGO_DEBUG="1") == ["False"]


def test_a_forwarded_scheme_is_believed_only_behind_a_proxy(tmp_path):
    assert seen(tmp_path, "SECURE_PROXY_SSL_HEADER") == ["None"]
    assert "https" in seen(tmp_path, "SECURE_PROXY_SSL_HEADER", KERNELSITE_PROXIES="1")[0]


@pytest.mark.slow
def test_collected_static_files_have_hashed_names_in_modules_too(tmp_path):
    code = (
        "import django; from django.conf import settings; django.setup();"
        f"settings.STATIC_ROOT = {str(tmp_path / 'static')!r};"
        "from django.core.management import call_command; call_command('collectstatic', interactive=False, verbosity=0)"
    )
    done = run(tmp_path, "-c", code, KERNELSITE_HTTPS="1", DJANGO_SETTINGS_MODULE="kernelsite.settings")
    assert done.returncode == 0, done.stderr
    names = json.loads((tmp_path / "static" / "staticfiles.json").read_text())["paths"]
    page = (tmp_path / "static" / names["js/search.js"]).read_text()
    assert Path(names["js/store.js"]).name in page
    assert "vendor/plotly.min.js" in names
