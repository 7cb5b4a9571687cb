"""Arithmetic and comparisons of numbers as CEL defines them: 64-bit whole numbers that do not wrap around, doubles.

Guarantees: overflow and division by zero are errors of the nodes where they happen, and of no others; a whole number
and a double compare by their exact values.
"""

from collections.abc import Callable

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.constraints.programs.values import CLEAN, Array, Column, either, truth
from dovetail.constraints.syntax.writer import INT_MAX, INT_MIN

EXACT = 2**53  # doubles hold every whole number up to here


def _failing(data: Array, failed: Array, left: Column, right: Column) -> Column:
    bad: B1 = failed if failed.any() else CLEAN
    return Column(data, either(left.error, right.error, bad))


def add(left: Column, right: Column) -> Column:
    a, b = left.data, right.data
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(a + b)
    if found.dtype == np.float64:
        return Column(found, either(left.error, right.error))
    return _failing(found, np.asarray(((a ^ found) & (b ^ found)) < 0), left, right)


def subtract(left: Column, right: Column) -> Column:
    a, b = left.data, right.data
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(a - b)
    if found.dtype == np.float64:
        return Column(found, either(left.error, right.error))
    return _failing(found, np.asarray(((a ^ b) & (a ^ found)) < 0), left, right)


def multiply(left: Column, right: Column) -> Column:
    a, b = left.data, right.data
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = np.asarray(a * b)
        if found.dtype == np.float64:
            return Column(found, either(left.error, right.error))
        # What wrapped around does not divide back. Dividing by -1 could overflow itself, so that is asked apart.
        small = (np.abs(a.astype(np.float64)) * np.abs(b.astype(np.float64))) < 2.0**62
        by = np.where((a == 0) | (a == -1), 1, a)
        wrapped = np.where(a == 0, False, np.where(a == -1, b == INT_MIN, (found // by != b) | (found % by != 0)))
    return _failing(found, np.asarray(wrapped & ~small), left, right)


def divide(left: Column, right: Column) -> Column:
    a, b = left.data, right.data
    if a.dtype == np.float64:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return Column(np.asarray(a / b), either(left.error, right.error))
    failed = np.asarray((b == 0) | ((a == INT_MIN) & (b == -1)))
    by = np.where(failed, 1, b)
    quotient = a // by
    quotient = quotient + ((quotient * by != a) & ((a < 0) != (by < 0)))  # towards zero
    return _failing(np.asarray(quotient), failed, left, right)


def remainder(left: Column, right: Column) -> Column:
    a, b = left.data, right.data
    failed = np.asarray((b == 0) | ((a == INT_MIN) & (b == -1)))
    return _failing(np.asarray(np.fmod(a, np.where(failed, 1, b))), failed, left, right)


def negate(value: Column) -> Column:
    if value.data.dtype == np.float64:
        return Column(np.asarray(-value.data), value.error)
    return subtract(Column(np.zeros((), dtype=np.int64)), value)


def to_int(value: Column) -> Column:
    """Towards zero; an error where 64 bits do not hold it."""
    if value.data.dtype == np.int64:
        return value
    data = value.data
    fits = np.asarray((data > float(INT_MIN)) & (data < float(INT_MAX)))
    found = np.where(fits, data, 0.0).astype(np.int64)
    return Column(found, value.error if fits.all() else either(value.error, ~fits))


def to_double(value: Column) -> Column:
    return Column(value.data.astype(np.float64), value.error)


_PLAIN: dict[str, Callable[[Array, Array], Array]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def compare(operator: str, left: Column, right: Column) -> Column:
    a, b = left.data, right.data
    error = either(left.error, right.error)
    if a.dtype == b.dtype:
        return truth(np.asarray(_PLAIN[operator](a, b)), error)
    if a.dtype == np.float64:
        mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
        return truth(_whole_to_double(mirrored, b, a), error)
    return truth(_whole_to_double(operator, a, b), error)


def _whole_to_double(operator: str, whole: Array, double: Array) -> Array:
    rounded = whole.astype(np.float64)
    found = np.asarray(_PLAIN[operator](rounded, double))
    # Rounding may have made them equal. Then both are within reach of 64 bits and are compared as whole numbers.
    close = np.asarray((rounded == double) & (np.abs(rounded) >= EXACT))
    if not close.any():
        return found
    below = double < 2.0**63
    exact = np.where(close & below, double, 0.0).astype(np.int64)
    beyond = operator in ("!=", "<", "<=")  # every whole number is less than 2 to the 63rd
    precise = np.where(below, _PLAIN[operator](whole, exact), beyond)
    return np.asarray(np.where(close, precise, found))
