"""Types of machines that the provider has refused: they are not offered again for a while. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dovetail.backends.machines.provider import RefusalKind

#: How long a refusal is remembered.
AVOIDED_FOR_S = {
    RefusalKind.STOCK_OUT: 300.0,
    RefusalKind.QUOTA: 900.0,
    RefusalKind.PERMISSION: 3600.0,
    RefusalKind.INVALID: 3600.0,
    RefusalKind.BROKEN: 10.0,  # the next look says how it is
}


@dataclass(slots=True)
class RefusedTypes:
    _until: dict[str, tuple[float, str]] = field(default_factory=dict)  # until when, and why, by type

    def note(self, types: Iterable[str], kind: RefusalKind, why: str, now: float) -> None:
        self._until.update(dict.fromkeys(types, (now + AVOIDED_FOR_S[kind], why)))

    def why(self, name: str) -> str:
        """Why the type is not offered; empty if it is."""
        return self._until[name][1] if name in self._until else ""

    def forget_old(self, now: float) -> None:
        self._until = {name: found for name, found in self._until.items() if found[0] > now}
