"""An attribute that a claim's devices must share, or in which they must differ: `matchAttribute`, `distinctAttribute`.

A rule keeps the values of the devices chosen so far. A device that it refuses stays refused when more are chosen, and
the order in which devices come makes no difference: both let a search give up early.
A device without the attribute, or with a value of a kind that is not known here, satisfies no rule.
"""

from collections.abc import Iterable
from typing import Any

from dovetail.kubernetes.devices.device import DraDevice, Unallocatable
from dovetail.kubernetes_client.objects import Json

_KINDS = ("string", "int", "bool", "version")
#: With its kind: 1 and true, or a version and the same text, are not the same.
Value = tuple[str, Any]


class Rule:
    """For the requests that it names, or all if it names none: all values are the same or, if `distinct`, no two."""

    def __init__(self, attribute: str, requests: Iterable[str], *, distinct: bool) -> None:
        self._attribute, self._distinct = attribute, distinct
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
        if value is None or (self._chosen and (value in self._chosen) is self._distinct):
            return False
        self._chosen.append(value)
        return True

    def remove_last(self) -> None:
        """The device that was added last."""
        self._chosen.pop()


def rule_of(constraint: Json, words: str) -> Rule:
    """Raises Unallocatable for a kind of constraint that is not supported; `words`: its claim."""
    requests = constraint.get("requests") or ()
    if attribute := constraint.get("matchAttribute"):
        return Rule(attribute, requests, distinct=False)
    if attribute := constraint.get("distinctAttribute"):
        return Rule(attribute, requests, distinct=True)
    raise Unallocatable(
        f"{words}: a constraint is of a kind that is not supported; matchAttribute and distinctAttribute are"
    )
