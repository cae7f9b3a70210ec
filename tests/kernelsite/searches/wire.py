"""Stands for the broker in tests: messages wait in a list until a test delivers, drops, doubles or reorders them."""

from __future__ import annotations

from dataclasses import dataclass, field

from synthetic_device import answer

from kernelsite.searches import tasks
from search.records import EvaluationRequest, EvaluationStatus, TaskName

HANDLERS = {
    TaskName.ADVANCE: tasks.advance,
    TaskName.PROPOSE: tasks.propose,
    TaskName.STARTED: tasks.started,
    TaskName.ALIVE: tasks.alive,
    TaskName.RECORD: tasks.record,
    TaskName.SWEEP: tasks.sweep,
}


@dataclass(frozen=True)
class Message:
    name: str
    args: list
    queue: str
    task_id: str = ""


@dataclass
class Wire:
    waiting: list[Message] = field(default_factory=list)
    verdicts: dict[str, EvaluationStatus] = field(default_factory=dict)
    """By attempt id: what the device answers instead of PASSED."""

    def send_task(self, name, args=(), queue="", task_id="", **_):
        self.waiting.append(Message(str(name), list(args), str(queue), task_id))

    def of(self, name):
        return [message for message in self.waiting if message.name == name]

    def ids(self, queue):
        return frozenset(message.task_id for message in self.waiting if message.queue == queue)

    def take(self, name):
        message = self.of(name)[0]
        self.waiting.remove(message)
        return message

    def deliver(self, message):
        if message.name == TaskName.EVALUATE:
            for request in message.args[0]:
                self.measure(EvaluationRequest.load(request))
        else:
            HANDLERS[message.name](*message.args)

    def measure(self, request):
        evaluation = answer(request, self.verdicts.get(request.id, EvaluationStatus.PASSED))
        self.send_task(TaskName.STARTED, [request.id, request.token], "control")
        self.send_task(TaskName.RECORD, [request.id, request.token, evaluation.dump()], "control")

    def run(self, most=2000):
        """Deliver in order until nothing waits."""
        for _ in range(most):
            if not self.waiting:
                return
            self.deliver(self.waiting.pop(0))
        raise AssertionError(f"still talking after {most} messages")

    def run_until(self, reached, most=2000):
        for _ in range(most):
            if reached():
                return
            assert self.waiting, "nothing is said any more"
            self.deliver(self.waiting.pop(0))
        raise AssertionError(f"not reached in {most} messages")
