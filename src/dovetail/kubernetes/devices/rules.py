"""What a claim's devices must have in common, or each for itself: `matchAttribute` and `distinctAttribute`.

A rule keeps the values of the devices chosen so far. Once it refuses a device, more devices do not change its mind, and
the order in which devices come makes no difference: both let a search give up early.
A device without the attribute, or with a value of a kind that is not known here, satisfies no rule.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from dovetail.kubernetes.devices.device import DraDevice, Json

_KINDS = ("string", "int", "bool", "version")
#: With its kind: 1 and true, or a version and the same text, are not the same.
Value = tuple[str, Any]


class Rule(ABC):
    """For the requests that it names, or all if it names none."""

    def __init__(self, attribute: str, requests: Iterable[str]) -> None:
        self._attribute = attribute
        self._domain, _slash, self._short = attribute.partition("/")
        self._requests = frozenset(requests)
        self._chosen: list[Value] = []

    def concerns(self, names: frozenset[str]) -> bool:
        """A request by its names: a subrequest has that of its request and its own."""
        return not self._requests or not names.isdisjoint(self._requests)

    def value(self, device: DraDevice) -> Value | None:
        """A driver need not write its own domain before names."""
        attributes: Json = device.body.get("attributes") or {}
        found: Json | None = attributes.get(self._attribute)
        if found is None and device.id.driver == self._domain:
            found = attributes.get(self._short)
        if found is None:
            return None
        return next(((kind, found[kind]) for kind in _KINDS if found.get(kind) is not None), None)

    def add(self, device: DraDevice) -> bool:
        """False: it may not be chosen beside those that are, and was not added."""
        value = self.value(device)
        if value is None or not self._admits(value, self._chosen):
            return False
        self._chosen.append(value)
        return True

    def remove_last(self) -> None:
        """The device that was added last."""
        self._chosen.pop()

    @abstractmethod
    def _admits(self, value: Value, chosen: list[Value]) -> bool: ...


class Matching(Rule):
    """All have the same value."""

    def _admits(self, value: Value, chosen: list[Value]) -> bool:
        return not chosen or chosen[0] == value


class Distinct(Rule):
    """No two have the same value."""

    def _admits(self, value: Value, chosen: list[Value]) -> bool:
        return value not in chosen


def rule_of(constraint: Json) -> Rule | None:
    """None: of a kind that is not known here."""
    requests = constraint.get("requests") or ()
    if attribute := constraint.get("matchAttribute"):
        return Matching(attribute, requests)
    if attribute := constraint.get("distinctAttribute"):
        return Distinct(attribute, requests)
    return None
