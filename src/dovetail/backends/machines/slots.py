"""Which nodes a provider's types are: the machines that exist, and those that could be launched next.

Every type offers at least one node that does not run yet, as long as its limit and its quota allow. While machines of a
type are being launched it offers more, so that many tasks at once find enough. Names are `TYPE-NUMBER`, the smallest
free number first, so the same machines give the same names after a restart. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count, islice

from dovetail.backends.machines.provider import MachineType

MOST_SPARES = 16


@dataclass(slots=True)
class SlotTable:
    """`used`: the type of each node whose machine is wanted or exists. `most`: how many of them there may be."""

    types: dict[str, MachineType] = field(default_factory=dict)
    quotas: Mapping[str, float] = field(default_factory=dict)
    most: int = 10**9
    used: dict[str, str] = field(default_factory=dict)
    launching: set[str] = field(default_factory=set)

    @property
    def full(self) -> bool:
        return len(self.used) >= self.most

    def nodes(self) -> dict[str, MachineType]:
        """All nodes by name, those that are used and those that could be launched."""
        found = {node: self.types[name] for node, name in self.used.items() if name in self.types}
        by_type: dict[str, list[str]] = {}
        for node, name in self.used.items():
            by_type.setdefault(name, []).append(node)
        left = self._quota_left()
        plain = not left and not self.full
        for name, kind in self.types.items():
            if plain and name not in by_type and not kind.fixed and kind.limit > 0:
                found[f"{name}-1"] = kind  # so it is with thousands of types
            else:
                found.update(dict.fromkeys(self._spares(kind, by_type.get(name, []), left), kind))
        return found

    def _spares(self, kind: MachineType, used: list[str], left: Mapping[str, float]) -> Iterable[str]:
        if kind.fixed:
            return [] if used else [kind.name]
        launching = sum(node in self.launching for node in used)
        wanted = min(1 + launching, MOST_SPARES, kind.limit - len(used), self.most - len(self.used))
        if kind.quota in left:
            wanted = min(wanted, int(left[kind.quota] // kind.quota_units))
        taken = set(used)
        free = (name for number in count(1) if (name := f"{kind.name}-{number}") not in taken)
        return islice(free, max(wanted, 0))

    def _quota_left(self) -> dict[str, float]:
        left = dict(self.quotas)
        for kind in self.used.values():
            known = self.types.get(kind)
            if known is not None and known.quota in left:
                left[known.quota] -= known.quota_units
        return left
