"""A device worker for tests: speaks the protocol of `gpuworker.evaluate`, measures nothing.

Times are a fixed function of the program, so that equal programs get equal answers and a search has a best.
Run as `celery -A synthetic_device worker -Q cpu --pool solo` with `REDIS_URL` set.
"""

from __future__ import annotations

import os
import threading
import time

from search.records import (
    CaseTiming,
    Environment,
    Evaluation,
    EvaluationRequest,
    EvaluationStage,
    EvaluationStatus,
    Interval,
    Queue,
    StageEvidence,
    TaskName,
    TimingMethod,
)
from search.workload import Workload

BASELINE_US = 100.0


def pace(request: EvaluationRequest) -> float:
    """Speed-up between 0.5 and 2.5: mostly the structure's, a little the knobs'."""
    structure = int(request.candidate.structure[:4] or "0", 16) / 0xFFFF
    program = int(request.candidate.hash[:4], 16) / 0xFFFF
    return 0.5 + 1.5 * structure + 0.5 * program


def answer(request: EvaluationRequest, status: EvaluationStatus = EvaluationStatus.PASSED) -> Evaluation:
    """A valid evaluation of the request."""
    workload = Workload.load(request.workload)
    environment = Environment(device_class=request.device_class, device="synthetic", workload=workload.hash)
    stages = tuple(
        StageEvidence(stage=stage, passed=True, seconds=0.001)
        for stage in (EvaluationStage.INTAKE, EvaluationStage.STATIC, EvaluationStage.BUILD)
    )
    common = {
        "status": status,
        "tier": request.tier,
        "purpose": request.purpose,
        "candidate": request.candidate.hash,
        "environment": environment,
        "device_seconds": 0.25,
        "wall_seconds": 0.25,
    }
    if status is EvaluationStatus.INFRA_ERROR:
        return Evaluation(message="the device is ill", **common)
    if status is not EvaluationStatus.PASSED:
        return Evaluation(stages=stages, message=f"{status} on purpose", **common)
    value = pace(request)
    speedup = Interval(value=value, low=value * 0.98, high=value * 1.02)
    median_us = BASELINE_US / value
    case = CaseTiming(
        case=workload.cases[0].name,
        median_us=median_us,
        p10_us=median_us,
        p90_us=median_us,
        samples=5,
        baseline_us=BASELINE_US,
        speedup=speedup,
    )
    return Evaluation(
        stages=stages,
        cases=(case,),
        speedup=speedup,
        median_us=median_us,
        baseline="synthetic baseline",
        method=TimingMethod.RECORDED,
        **common,
    )


def make_app():
    """The Celery app of the worker process."""
    from celery import Celery
    from celery.signals import worker_ready

    app = Celery("synthetic_device", broker=os.environ["REDIS_URL"].replace("unix://", "redis+socket://", 1))
    app.conf.update(
        task_ignore_result=True,
        worker_prefetch_multiplier=1,
        task_default_queue=Queue.CPU,
        task_serializer="json",
    )
    send = {"queue": Queue.CONTROL, "ignore_result": True}
    delay_s = float(os.environ.get("SYNTHETIC_DELAY_S", "0.05"))
    device = {
        "device_class": "cpu",
        "name": "synthetic",
        "model": "synthetic",
        "driver": "",
        "runtime": "",
        "sandbox": "none",
        "cores": 1,
    }

    @app.task(name=TaskName.EVALUATE)
    def evaluate(requests):
        for document in requests:
            request = EvaluationRequest.load(document)
            app.send_task(TaskName.STARTED, args=[request.id, request.token], **send)
            time.sleep(delay_s)
            app.send_task(TaskName.RECORD, args=[request.id, request.token, answer(request).dump()], **send)

    @worker_ready.connect(weak=False)
    def hello(**_):
        def beat():
            while True:
                try:
                    app.send_task(TaskName.HELLO, args=[device], **send)
                except app.connection_for_write().connection_errors:
                    pass  # the broker is away: the next beat tells
                time.sleep(1.0)

        threading.Thread(target=beat, daemon=True).start()

    return app


if "REDIS_URL" in os.environ:
    app = make_app()
