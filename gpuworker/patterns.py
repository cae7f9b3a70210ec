"""Says in words how an output is wrong, so that whoever wrote the kernel can find the mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuworker.compare import Expected, wrong_elements
from gpuworker.dtypes import readable
from search.records import EvaluationStatus

if TYPE_CHECKING:
    import torch

_SAMPLE_ELEMENTS = 1 << 20


def explain(
    name: str, output: torch.Tensor, expected: Expected, unwritten: torch.Tensor
) -> tuple[EvaluationStatus, str]:
    """Status and one sentence for an output that is not right.

    Args:
        name: the output's name.
        output: what the kernel left.
        expected: what it should be.
        unwritten: mask of elements that still hold the judge's pattern.
    """
    output = readable(output)
    wrong = wrong_elements(output, expected)
    share = f"{int(wrong.sum())} of {wrong.numel()} elements of `{name}` are wrong"
    if bool(unwritten.all()):
        return EvaluationStatus.INCORRECT_NUMERICAL, f"`{name}` was not written at all"
    if bool((unwritten & wrong).any()):
        where = _where(unwritten)
        return (
            EvaluationStatus.INCORRECT_NUMERICAL,
            f"{int(unwritten.sum())} elements of `{name}` were never written{where}",
        )
    if output.is_floating_point() and expected.finite and not bool(output.isfinite().all()):
        broken = ~output.isfinite()
        return (
            EvaluationStatus.NONFINITE,
            f"{int(broken.sum())} elements of `{name}` are NaN or infinite{_where(broken)}",
        )
    if not bool(wrong.any()):
        return (
            EvaluationStatus.INCORRECT_NUMERICAL,
            f"`{name}`: each element is close, but the whole is off by more than allowed",
        )
    return EvaluationStatus.INCORRECT_NUMERICAL, f"{share}{_character(output, expected, wrong)}"


def _character(output: torch.Tensor, expected: Expected, wrong: torch.Tensor) -> str:
    if not bool((output != 0).any()):
        return ": all zeros"
    if bool((output == output.reshape(-1)[0]).all()):
        return ": the same value everywhere"
    if output.is_floating_point() and (factor := _constant_factor(output, expected)) is not None:
        return f": a constant factor of {factor:.4g} off"
    return _where(wrong) + _worst(output, expected, wrong)


def _constant_factor(output: torch.Tensor, expected: Expected) -> float | None:
    got, value = _sample(output).double(), _sample(expected.value).double()
    usable = value.abs() > value.abs().mean() * 0.1
    if not bool(usable.any()) or not bool(value.isfinite().all()):
        return None
    ratio = got[usable] / value[usable]
    middle = float(ratio.median())
    constant = bool(((ratio - middle).abs() <= 1e-3 * abs(middle)).all())
    return middle if constant and abs(middle - 1.0) > 2e-3 else None


def _sample(value: torch.Tensor) -> torch.Tensor:
    """Enough elements to see a pattern, from all over the tensor."""
    flat = value.reshape(-1)
    return flat[:: max(1, len(flat) // _SAMPLE_ELEMENTS)]


def _worst(output: torch.Tensor, expected: Expected, wrong: torch.Tensor) -> str:
    if not output.is_floating_point():
        return ""
    error = (output[wrong].double() - expected.value.reshape(output.shape)[wrong].double()).abs()
    return (
        f"; largest error {float(error[error.isfinite()].max()):.3g}" if bool(error.isfinite().any()) else ""
    )


def _where(mask: torch.Tensor) -> str:
    """Place of the marked elements along the last two axes."""
    if mask.ndim == 0 or bool(mask.all()):
        return ""
    if mask.ndim == 1:
        return _along(mask, "element")
    flat = mask.reshape(-1, mask.shape[-1])
    rows, columns = flat.any(1), flat.any(0)
    if not bool(rows.all()):
        return _along(rows, "row")
    return _along(columns, "column")


def _along(marked: torch.Tensor, word: str) -> str:
    count = int(marked.sum())
    places = marked.nonzero().reshape(-1)
    first, last = int(places[0]), int(places[-1])
    if count == 1:
        return f", only in {word} {first}"
    if last - first + 1 == count:
        if last == len(marked) - 1:
            return f", all in the last {count} {word}s (from {first})" if first else f", in every {word}"
        return f", all in {word}s {first} to {last}" if first else f", all in the first {count} {word}s"
    steps = set(places.diff().tolist())
    if len(steps) == 1:
        return f", at every {steps.pop()}th {word} from {first}"
    return f", in {count} of {len(marked)} {word}s from {first} to {last}"
