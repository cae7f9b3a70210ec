"""A device worker behind a broker: `celery -A gpuworker.app worker -Q cpu --pool solo`.

One process, one device, one evaluation at a time, in the worker's main thread, under which the runner's processes
hang. It knows the broker's address and nothing else; results go back as tasks by name (`outbox.py`).
"""

from __future__ import annotations

import logging
import os
import threading
from typing import TYPE_CHECKING, Any

import click
from celery import Celery, Task, bootsteps
from celery.worker.request import Request
from kombu.exceptions import OperationalError
from pydantic import ValidationError

from gpuworker import state
from gpuworker.health.quarantine import Quarantine
from gpuworker.health.valve import Valve
from gpuworker.options import Options
from gpuworker.outbox import Outbox
from gpuworker.probe_job import run_program
from gpuworker.runner import Runner, StartError
from gpuworker.validation import validate
from gpuworker.vitals import vitals_of
from search.formats.probes import ProbeRequest
from search.records import EvaluationRequest, TaskName
from search.validation import ValidationRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from search.validation import Validation

HELLO_S = 10.0
_FLUSH_S = 5.0
_log = logging.getLogger(__name__)


def broker_url(address: str) -> str:
    """The broker's address as Celery wants it: a unix socket has another scheme there."""
    return address.replace("unix://", "redis+socket://", 1)


def _application() -> Celery:
    application = Celery(
        "gpuworker", broker=broker_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"))
    )
    application.conf.update(
        accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        task_ignore_result=True,
        # Acked before it runs: what a dying worker loses, the site's sweeper finds and sends again.
        task_acks_late=False,
        task_reject_on_worker_lost=False,
        worker_prefetch_multiplier=1,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_pool="solo",
        worker_concurrency=1,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "visibility_timeout": 3600,
            "health_check_interval": 25,
            "socket_timeout": 30,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
        },
        timezone="UTC",
    )
    application.user_options["worker"].add(
        click.Option(["--cores"], default="", help="Cores for candidates, e.g. 3 or 2,3.")
    )
    application.user_options["worker"].add(
        click.Option(["--device"], default="cpu", help="cpu, cuda:0, or the class of a GPU, e.g. h200.")
    )
    application.user_options["worker"].add(
        click.Option(["--unsandboxed"], is_flag=True, help="Run candidates without walls, and say so.")
    )
    return application


class DeviceWorker:
    """The runner with its messages to the site."""

    def __init__(self, application: Celery, options: Options, hostname: str) -> None:
        """Start the device side.

        Raises:
            StartError: it does not start.
        """
        self._quarantine = Quarantine.of(options)
        self._runner = Runner(options, quarantine=self._quarantine)
        self._runner.start()
        self._node, self._application = hostname, application
        self._vitals = vitals_of(self._runner.device.get("uuid", ""))
        queues = application.amqp.queues
        self._valve = Valve(application.control, hostname, list(queues.consume_from))
        if self._quarantine.reason:
            # The worker takes no messages yet, so it would not hear the valve either.
            queues.deselect(list(queues.consume_from))
        self._outbox = Outbox(application)
        self._stop = threading.Event()
        threading.Thread(target=self._greet, name="hello", daemon=True).start()

    def evaluate(self, requests: Sequence[EvaluationRequest]) -> None:
        """Judge a batch and send one record per request."""
        waiting = list(requests)
        for request in requests:
            self._outbox.put(TaskName.STARTED, _address(request))

        def alive() -> None:
            for request in waiting:
                self._outbox.put(TaskName.ALIVE, _address(request), passing=True)

        with self._vitals.judging([request.id for request in requests]):
            self._judge(requests, waiting, alive)

    def _judge(
        self,
        requests: Sequence[EvaluationRequest],
        waiting: list[EvaluationRequest],
        alive: Callable[[], None],
    ) -> None:
        for place, evaluation in self._runner.judged(requests, alive):
            request = requests[place]
            waiting.remove(request)
            self._vitals.done(request.id)
            self._outbox.put(TaskName.RECORD, {**_address(request), "evaluation": evaluation.dump()})

    def validate(self, request: ValidationRequest) -> None:
        """Validate a workload and send what is known as it comes."""
        address = {"id": request.id, "token": request.token}
        self._outbox.put(TaskName.VALIDATION_STARTED, address)

        def tell(known: Validation) -> None:
            self._outbox.put(TaskName.VALIDATION_ALIVE, {**address, "known": known.dump()}, passing=True)

        with self._vitals.judging([f"validation-{request.id}"]):
            found = validate(self._runner, request, tell)
        self._outbox.put(TaskName.VALIDATION_RECORD, {**address, "known": found.dump()})

    def probe(self, request: ProbeRequest) -> None:
        """Run a program once and send what it told."""
        address = {"id": request.id, "token": request.token}
        self._outbox.put(TaskName.PROBE_STARTED, address)
        with self._vitals.judging([f"probe-{request.id}"]):
            found = run_program(
                self._runner,
                request,
                lambda: self._outbox.put(TaskName.PROBE_ALIVE, address, passing=True),
            )
        self._outbox.put(TaskName.PROBE_RECORD, {**address, "answer": found.dump()})

    def close(self) -> None:
        """End the device side and send what still waits."""
        self._stop.set()
        self._runner.close()
        self._outbox.close(_FLUSH_S)

    def _greet(self) -> None:
        while True:
            reason = self._quarantine.reason
            device = {**self._runner.device, "quarantined": reason, **self._vitals.tell()}
            device |= {"node": self._node, "open": self._takes_work()}
            self._outbox.put(TaskName.HELLO, {"device": device}, passing=True)
            try:
                self._valve.set(shut=bool(reason))
            except (OperationalError, OSError) as error:
                _log.warning("the broker is away (%s); the worker's queues stay as they are", error)
            if self._stop.wait(HELLO_S):
                return

    def _takes_work(self) -> bool:
        """Whether it consumes its queues now; the site compares that with what a person decided."""
        return bool(self._application.amqp.queues.consume_from)


def _address(request: EvaluationRequest) -> dict[str, Any]:
    return {"id": request.id, "token": request.token}


class DeviceStep(bootsteps.StartStopStep):  # type: ignore[misc]  # celery ships no types
    """Starts the device side before the worker takes messages, and ends it with the worker."""

    def __init__(self, parent: Any, cores: str = "", device: str = "cpu", **options: Any) -> None:
        """Take the command line's options."""
        unsandboxed = bool(options.pop("unsandboxed", False))
        self._options = Options(
            device=device,
            cores=tuple(int(core) for core in cores.split(",") if core),
            unsandboxed=unsandboxed,
            state=str(state.folder()),
        )
        super().__init__(parent, **options)

    def start(self, parent: Any) -> None:
        """Called by the worker in its main thread."""
        try:
            parent.app.device_worker = DeviceWorker(parent.app, self._options, parent.hostname)
        except StartError as error:
            raise SystemExit(f"gpuworker: {error}") from error

    def stop(self, parent: Any) -> None:
        """Called by the worker when it ends."""
        parent.app.device_worker.close()

    terminate = stop


class PromptRequest(Request):  # type: ignore[misc]  # celery ships no types
    """Acked before it runs. The solo pool would put the ack off until the task, and with it the event loop, is done."""

    def acknowledge(self) -> None:
        """Called by the pool when the task starts."""
        if not self.acknowledged:
            self.message.ack_log_error(_log, self.connection_errors)
            self.acknowledged: bool = True


app = _application()
app.steps["worker"].add(DeviceStep)


@app.task(name=TaskName.EVALUATE, bind=True, Request=PromptRequest)  # type: ignore[untyped-decorator]  # celery ships no types
def evaluate(self: Task, requests: list[dict[str, Any]]) -> None:
    """Judge a batch."""
    try:
        batch = [EvaluationRequest.load(request) for request in requests]
    except ValidationError as error:
        _log.error("not a request, dropped: %s", error)
        return
    self.app.device_worker.evaluate(batch)


@app.task(name=TaskName.VALIDATE, bind=True, Request=PromptRequest)  # type: ignore[untyped-decorator]  # as above
def validate_workload(self: Task, request: dict[str, Any]) -> None:
    """Validate one workload."""
    try:
        wanted = ValidationRequest.load(request)
    except ValidationError as error:
        _log.error("not a request, dropped: %s", error)
        return
    self.app.device_worker.validate(wanted)


@app.task(name=TaskName.PROBE, bind=True, Request=PromptRequest)  # type: ignore[untyped-decorator]  # as above
def probe_program(self: Task, request: dict[str, Any]) -> None:
    """Run one program."""
    try:
        wanted = ProbeRequest.load(request)
    except ValidationError as error:
        _log.error("not a request, dropped: %s", error)
        return
    self.app.device_worker.probe(wanted)
