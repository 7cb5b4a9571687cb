"""Values back from the lists that JSON makes of them, by their type.

Guarantees: `decoder(type)(json.loads(json.dumps(value))) == value` for text, numbers, bools, enums, tuples, named
tuples and what may be None. Fields at the end of a named tuple may be missing, as in what was written before they were
added; they get their defaults.
"""

from collections.abc import Callable
from enum import Enum
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

Decoder = Callable[[Any], Any]


@cache
def decoder(of: Any) -> Decoder:
    """The inverse of writing a value of this type as JSON. A tuple of pairs may have been written as an object."""
    parts = get_args(of)
    if get_origin(of) is tuple:
        if parts[-1] is Ellipsis:
            return _of_many(decoder(parts[0]))
        return _of_fields(_together, [decoder(part) for part in parts])
    if parts:  # something or None
        (given,) = [decoder(part) for part in parts if part is not NoneType]
        return lambda value: None if value is None else given(value)
    if issubclass(of, tuple):
        hints = get_type_hints(of)
        return _of_fields(of, [decoder(hints[name]) for name in hints])
    return of if issubclass(of, Enum) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _together(*values: Any) -> tuple[Any, ...]:
    return values


def _of_many(each: Decoder) -> Decoder:
    if each is _as_it_is:
        return tuple
    return lambda values: tuple([each(one) for one in (values.items() if isinstance(values, dict) else values)])


def _of_fields(make: Callable[..., Any], decoders: list[Decoder]) -> Decoder:
    if all(each is _as_it_is for each in decoders):
        return tuple if make is _together else lambda values: make(*values)
    return lambda values: make(*[each(one) for each, one in zip(decoders, values, strict=False)])
