"""Which live workloads declare traffic with a workload, by the name they give it.

A shape holds what its own workload declares; this is the other direction. The named workload need not be live.
"""

from collections.abc import Iterable

from dovetail.engine.state.work import Work


class Talkers:
    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], dict[int, None]] = {}
        self._named_by: dict[int, list[tuple[str, str]]] = {}

    def admit(self, work: Work) -> None:
        if work.terms.shape.traffic:
            self._named_by[work.id] = [(work.namespace, name) for name, _ in work.terms.shape.traffic]
            for key in self._named_by[work.id]:
                self._by_name.setdefault(key, {})[work.id] = None

    def forget(self, work: Work) -> None:
        for key in self._named_by.pop(work.id, ()):
            talkers = self._by_name[key]
            del talkers[work.id]
            if not talkers:
                del self._by_name[key]

    def to(self, key: tuple[str, str]) -> Iterable[int]:
        """Ids, in the order in which they were submitted."""
        return self._by_name.get(key, ())
