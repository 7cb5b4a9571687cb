"""Which live workloads declare traffic with a workload, by the name they give it.

A shape holds what its own workload declares; this is the other direction. The named workload need not be live.
"""

from collections.abc import Collection, Iterable

from dovetail.engine.state.work import Work


class Talkers:
    def __init__(self) -> None:
        self._by_name: dict[tuple[str, str], dict[int, None]] = {}
        self._named_by: dict[int, list[tuple[str, str]]] = {}
        self._replicas: dict[tuple[str, str], dict[int, None]] = {}  # of services, by the name of the service

    def admit(self, work: Work) -> None:
        if work.terms.shape.traffic:
            self._named_by[work.id] = [(work.namespace, name) for name, _ in work.terms.shape.traffic]
            for key in self._named_by[work.id]:
                self._by_name.setdefault(key, {})[work.id] = None

        if work.known_as != work.name:
            self._replicas.setdefault((work.namespace, work.known_as), {})[work.id] = None

    def forget(self, work: Work) -> None:
        replicas = self._replicas.get((work.namespace, work.known_as), {})
        if replicas.pop(work.id, 0) is None and not replicas:
            del self._replicas[work.namespace, work.known_as]
        for key in self._named_by.pop(work.id, ()):
            talkers = self._by_name[key]
            del talkers[work.id]
            if not talkers:
                del self._by_name[key]

    def to(self, key: tuple[str, str]) -> Iterable[int]:
        """Ids, in the order in which they were submitted."""
        return self._by_name.get(key, ())

    def replicas(self, key: tuple[str, str]) -> Collection[int]:
        """The live workloads that are replicas of this service."""
        return self._replicas.get(key, ())
