"""Whether nodes take new tasks: online, cordoned, in quarantine, with a backend that is available.

Left to others: what follows from a change (`engine`), undoing it at the end of a trial (`Cluster`).
"""

from collections.abc import Sequence

import numpy as np

from dovetail.cluster.arrays import B1, FIRST_CAPACITY, I4, grown


class NodeStatus:
    """Written by `Cluster` only, except `drained`, which the engine keeps. `names`: by row, kept by `Cluster`."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.online: B1 = np.zeros(FIRST_CAPACITY, dtype=np.bool_)
        self.cordoned: B1 = np.zeros(FIRST_CAPACITY, dtype=np.bool_)
        self.present: B1 = np.zeros(FIRST_CAPACITY, dtype=np.bool_)
        # Online, neither cordoned nor quarantined, backend available.
        self.ready: B1 = np.zeros(FIRST_CAPACITY, dtype=np.bool_)
        self.backends: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self.backend_names: list[str] = []
        self.backend_available: list[bool] = []
        self.offline_reasons: dict[str, str] = {}
        self.cordon_reasons: dict[str, str] = {}
        self.quarantines: dict[str, str] = {}  # why nothing new goes there for a while
        self.drained: set[str] = set()

    def join(self, row: int, backend: str) -> None:
        """A node that joins, or is redefined, is online; a cordon stays."""
        self.backends[row] = self._backend_code(backend)
        self.online[row] = self.present[row] = True
        self.offline_reasons.pop(self._names[row], None)
        self._refresh_ready(row)

    def leave(self, row: int) -> None:
        for flags in (self.online, self.cordoned, self.present, self.ready):
            flags[row] = False
        for reasons in (self.offline_reasons, self.cordon_reasons, self.quarantines):
            reasons.pop(self._names[row], None)
        self.drained.discard(self._names[row])

    def set_online(self, row: int, online: bool, reason: str) -> None:
        self.online[row] = online
        _note(self.offline_reasons, self._names[row], "" if online else reason)
        self._refresh_ready(row)

    def set_cordoned(self, row: int, cordoned: bool, reason: str) -> None:
        self.cordoned[row] = cordoned
        if not cordoned:
            self.drained.discard(self._names[row])
        _note(self.cordon_reasons, self._names[row], reason if cordoned else "")
        self._refresh_ready(row)

    def set_quarantined(self, row: int, reason: str) -> None:
        _note(self.quarantines, self._names[row], reason)
        self._refresh_ready(row)

    def set_backend_available(self, backend: str, available: bool, width: int) -> list[int]:
        """Returns the rows of its nodes if that is a change; none otherwise."""
        code = self._backend_code(backend)
        if self.backend_available[code] == available:
            return []
        self.backend_available[code] = available
        rows: list[int] = np.flatnonzero(self.backends[:width] == code).tolist()
        for row in rows:
            self._refresh_ready(row)
        return rows

    def backend_of(self, row: int) -> str:
        name: str = self.backend_names[self.backends[row]]
        return name

    def reason(self, name: str) -> str:
        """Why no new task goes there: the node is offline, or cordoned, or in quarantine."""
        return self.offline_reasons.get(name) or self.cordon_reasons.get(name) or self.quarantines.get(name, "")

    def widen(self, width: int) -> None:
        for name in ("online", "cordoned", "present", "ready", "backends"):
            setattr(self, name, grown(getattr(self, name), width))

    def _backend_code(self, backend: str) -> int:
        if backend not in self.backend_names:
            self.backend_names.append(backend)
            self.backend_available.append(True)
        return self.backend_names.index(backend)

    def _refresh_ready(self, row: int) -> None:
        available = self.backend_available[self.backends[row]]
        usable = available and self._names[row] not in self.quarantines
        self.ready[row] = self.present[row] and self.online[row] and not self.cordoned[row] and usable


def _note(reasons: dict[str, str], name: str, reason: str) -> None:
    if reason:
        reasons[name] = reason
    else:
        reasons.pop(name, None)
