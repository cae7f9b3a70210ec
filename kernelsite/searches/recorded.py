"""The device class `recorded:<name>` on the site: landscapes answer, by a task of queue `recorded`; no device is needed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from kernelsite.fleet.models import Device
from kernelsite.searches import attempts, models
from search.landscapes.answer import answer_by_name
from search.landscapes.files import (
    LandscapeError,
    device_classes,
    find_landscape,
    is_recorded,
    landscape_of,
)
from search.records import Environment, Evaluation, EvaluationRequest, EvaluationStatus, content_hash

if TYPE_CHECKING:
    from search.workload import Workload

log = logging.getLogger(__name__)


def evaluate(documents: list[dict[str, Any]]) -> None:
    """Answer a batch, as a device worker would: begun, then recorded."""
    for document in documents:
        try:
            request = EvaluationRequest.load(document)
        except ValidationError as error:
            log.error("not a request, dropped: %s", error)
            continue
        attempts.start(int(request.id), request.token)
        attempts.record(int(request.id), request.token, _answer(request).dump())


def is_served(device_class: str) -> bool:
    """Whether a device of the class is online, or a landscape stands for it."""
    if is_recorded(device_class):
        return True
    return Device.objects.online().filter(device_class=device_class).exists()


def problem(device_class: str, workload: Workload) -> str:
    """Why a workload cannot be searched on a recorded device class; empty if it can, or is not recorded."""
    if not is_recorded(device_class):
        return ""
    try:
        landscape_of(device_class, workload)
    except LandscapeError as error:
        return str(error)
    return ""


def choices() -> list[tuple[str, str]]:
    """Recorded device classes with where and when they were measured; an unreadable file is left out."""
    found = []
    for device_class in device_classes():
        try:
            landscape = find_landscape(device_class.partition(":")[2])
        except LandscapeError as error:
            log.warning("landscape left out: %s", error)
            continue
        text = f"{landscape.workload.name} {landscape.case}, {landscape.label}"
        found.append((device_class, f"{device_class} \N{EN DASH} {text}"))
    return found


def _answer(request: EvaluationRequest) -> Evaluation:
    seeds = models.Evaluation.objects.filter(pk=int(request.id)).values_list("search__seed", flat=True)
    try:
        # A search that is repeated with its seed meets the same noise.
        return answer_by_name(request, seed=seeds.first() or 0)
    except LandscapeError as error:
        return Evaluation(
            status=EvaluationStatus.INFRA_ERROR,
            tier=request.tier,
            purpose=request.purpose,
            candidate=request.candidate.hash,
            environment=Environment(
                device_class=request.device_class, device="recorded", workload=content_hash(request.workload)
            ),
            message=str(error),
        )
