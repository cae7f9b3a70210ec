"""Whole-number expressions over axis names: sizes of `expr` axes, floors of work.

Numbers, names, parentheses, `+ - * / // % **` and signs. Values are fractions on the way, so `/` loses nothing,
but the end must be a whole number.
"""

from __future__ import annotations

import ast
import operator
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LONGEST = 400
_LARGEST = 1 << 62
_LARGEST_POWER = 64


def evaluate_expression(text: str, sizes: Mapping[str, int]) -> int:
    """Value of an expression over axis names.

    Raises:
        ValueError: the text is no such expression, names an unknown axis, or its value is no whole number of
            sensible size.
    """
    if len(text) > _LONGEST:
        raise ValueError(f"expression of {len(text)} characters, over the limit of {_LONGEST}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"expression {text!r}: cannot read it") from error
    try:
        value = _value(tree.body, sizes)
    except ZeroDivisionError as error:
        raise ValueError(f"expression {text!r} divides by zero") from error
    if value.denominator != 1:
        raise ValueError(f"expression {text!r} is {value}, not a whole number")
    return int(value)


def _value(node: ast.expr, sizes: Mapping[str, int]) -> Fraction:
    match node:
        case ast.Constant(value=bool()):
            raise ValueError(f"expression: {node.value!r} is not a number or an axis")
        case ast.Constant(value=int() | float() as number):
            return _bounded(_exactly(number))
        case ast.Name(id=name) if name in sizes:
            return Fraction(sizes[name])
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, sizes)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, sizes)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, sizes), _value(right, sizes))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _bounded(Fraction(_OPERATORS[type(op)](_value(left, sizes), _value(right, sizes))))
    raise ValueError(f"expression: {ast.unparse(node)!r} is not a number, an axis or one of + - * / // % **")


def _exactly(number: float) -> Fraction:
    """`0.1` means one tenth."""
    try:
        return Fraction(repr(number))
    except ValueError as error:
        raise ValueError(f"expression: {number!r} is not a number") from error


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    if exponent.denominator != 1 or not 0 <= exponent <= _LARGEST_POWER:
        raise ValueError(f"expression: the power {exponent} is not a whole number up to {_LARGEST_POWER}")
    return _bounded(Fraction(base ** int(exponent)))


def _bounded(value: Fraction) -> Fraction:
    if abs(value.numerator) > _LARGEST or value.denominator > _LARGEST:
        raise ValueError("expression leaves the range of 62 bits")
    return value


_OPERATORS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction | int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
