"""Messages that leave the control side. Each is sent after commit and can be sent again from rows at any time.

The hooks are lambdas because Django's report of a robust hook that failed reads its `__qualname__`.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from kernelsite.celery import app
from kernelsite.searches.limits import limits
from kernelsite.searches.models import Evaluation
from kernelsite.searches.scene import needs_walls
from search.records import EvaluationRequest, Purpose, Queue, TaskName, Tier, device_queue
from search.strategies import STRATEGIES


def advance_later(search_id: int) -> None:
    """Have a driver look at the search once the transaction is committed."""
    transaction.on_commit(lambda: send_advance(search_id), robust=True)


def propose_later(step_id: int) -> None:
    """Have an agent answer the step once the transaction is committed."""
    transaction.on_commit(lambda: send_propose(step_id), robust=True)


def evaluate_later(evaluation_id: int) -> None:
    """Have a device worker make the attempt once the transaction is committed."""
    transaction.on_commit(lambda: send_evaluation(evaluation_id), robust=True)


def advance_message_id(search_id: int) -> str:
    """Broker id of the message, by which the sweeper finds it in the queue."""
    return f"advance-{search_id}"


def propose_message_id(step_id: int) -> str:
    """Broker id of the message, by which the sweeper finds it in the queue."""
    return f"propose-{step_id}"


def evaluation_message_id(evaluation_id: int) -> str:
    """Broker id of the message, by which the sweeper finds it in the queue."""
    return f"evaluation-{evaluation_id}"


def send_advance(search_id: int) -> None:
    """Queue `searches.advance`."""
    app.send_task(
        TaskName.ADVANCE, args=[search_id], queue=Queue.CONTROL, task_id=advance_message_id(search_id)
    )


def send_propose(step_id: int) -> None:
    """Queue `searches.propose`."""
    app.send_task(TaskName.PROPOSE, args=[step_id], queue=Queue.AGENT, task_id=propose_message_id(step_id))


def send_evaluation(evaluation_id: int) -> None:
    """Queue `gpuworker.evaluate` for one attempt that is still waiting."""
    rows = Evaluation.objects.select_related(
        "search__workload", "candidate__source", "candidate__structure", "candidate__parent"
    )
    evaluation = rows.get(pk=evaluation_id)
    if not evaluation.is_open:
        return
    Evaluation.objects.filter(pk=evaluation_id).update(sent_at=timezone.now())
    app.send_task(
        TaskName.EVALUATE,
        args=[[request_of(evaluation).dump()]],
        queue=device_queue(evaluation.search.device_class),
        task_id=evaluation_message_id(evaluation_id),
    )


def request_of(evaluation: Evaluation) -> EvaluationRequest:
    """What the device worker is told; the strategy says whether candidates are held to their structure's contract."""
    candidate = evaluation.candidate
    keeps = STRATEGIES[evaluation.search.strategy].keeps_contract
    return EvaluationRequest(
        id=str(evaluation.pk),
        token=evaluation.token,
        workload=evaluation.search.workload.document,
        candidate=candidate.record,
        contract=candidate.structure.record.contract if keeps else None,
        device_class=evaluation.search.device_class,
        tier=Tier(evaluation.tier),
        purpose=Purpose(evaluation.purpose),
        deadline_s=limits().evaluation_deadline_s,
        needs_walls=needs_walls(evaluation.search),
    )
