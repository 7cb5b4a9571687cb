"""The tree of queues, and which queue a workload waits in.

Guarantees: every queue has a code, its index in `queues`; parents come before children, and the unnamed root is 0.
There is always a queue `default` for work that no other queue accepts. The tree is immutable.
Left to others: usage (`usage`), limits (`quota`), order (`pending_queue`).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from dovetail.model.resources import Amounts
from dovetail.model.text.strict import closest, shown
from dovetail.queueing.settings import QueueSettings

ROOT = 0
DEFAULT_QUEUE = "default"
_WILD = re.compile(r"[*?]|\[[^\]]*\]")
_RESOLVED_KEPT = 10_000
_LISTED = 20


class UnknownQueue(ValueError):
    """The queue does not exist or cannot hold work. The message lists the queues."""


class BadQueues(ValueError):
    """The configured queues do not form a valid tree."""


@dataclass(slots=True, frozen=True)
class Queue:
    """Amounts are in smallest units; a missing resource is not limited."""

    code: int
    name: str
    path: str
    parent: int
    depth: int
    weight: float
    guaranteed: Amounts
    maximum: Amounts
    user_limits: Amounts
    max_workloads: int | None
    lineage: tuple[int, ...]  # itself, its parent, …, the root


class QueueTree:
    """All queues by code, path and name."""

    def __init__(self, settings: Mapping[str, QueueSettings]) -> None:
        self.queues: list[Queue] = []
        self.children: list[list[int]] = []
        self.by_path: dict[str, int] = {}
        self._patterns: list[tuple[tuple[int, int, int], str, int]] = []  # most specific first
        self._leaves_named: dict[str, list[int]] = {}
        self._resolved: dict[tuple[str | None, str], int] = {}
        if DEFAULT_QUEUE in settings and settings[DEFAULT_QUEUE].queues:
            raise BadQueues(f"queue {DEFAULT_QUEUE!r} takes all work that names no queue, so it cannot have children")
        top = settings if DEFAULT_QUEUE in settings else {**settings, DEFAULT_QUEUE: QueueSettings()}
        self._add("", QueueSettings(queues=dict(top)), None)
        for queue in self.queues[1:]:
            self.by_path[queue.path] = queue.code
            if not self.children[queue.code]:
                self._leaves_named.setdefault(queue.name, []).append(queue.code)
        self._patterns.sort()
        self._leaves: list[list[int]] = [[] for _ in self.queues]
        for queue in self.queues:
            if self.is_leaf(queue.code):
                for above in queue.lineage:
                    self._leaves[above].append(queue.code)
        self.default = self.by_path[DEFAULT_QUEUE]
        #: Resources that some queue is guaranteed; only these can be borrowed.
        self.shared_out = frozenset(name for queue in self.queues for name in queue.guaranteed)

    def _add(self, name: str, settings: QueueSettings, parent: Queue | None) -> None:
        code = len(self.queues)
        queue = Queue(
            code=code,
            name=name,
            path=f"{parent.path}/{name}" if parent and parent.path else name,
            parent=parent.code if parent else ROOT,
            depth=parent.depth + 1 if parent else 0,
            weight=settings.weight,
            guaranteed=settings.guarantee if parent else {},  # the root owns everything
            maximum=settings.maximum.amounts(),
            user_limits=settings.user_limits.amounts(),
            max_workloads=settings.max_workloads,
            lineage=(code, *(parent.lineage if parent else ())),
        )
        self.queues.append(queue)
        self.children.append([])
        if parent:
            self.children[parent.code].append(code)
        for pattern in settings.namespaces:
            plain = len(_WILD.sub("", pattern))
            self._patterns.append(((int(plain != len(pattern)), -plain, code), pattern, code))
        for child, inner in settings.queues.items():
            self._add(child, inner, queue)

    def __len__(self) -> int:
        return len(self.queues)

    def __getitem__(self, code: int) -> Queue:
        return self.queues[code]

    def is_leaf(self, code: int) -> bool:
        return not self.children[code]

    def leaves(self, under: int = ROOT) -> list[int]:
        """Codes of the leaf queues at or below a queue, in order."""
        return self._leaves[under]

    def resolve(self, queue: str | None, namespace: str) -> int:
        """The queue a workload names; otherwise the one configured for its namespace (a plain name before a pattern, a
        longer pattern before a shorter), the one named like its namespace, or `default`. Raises UnknownQueue."""
        key = (queue, namespace if queue is None else "")
        code = self._resolved.get(key)
        if code is None:
            code = self._by_namespace(namespace) if queue is None else self._named(queue)
            if len(self._resolved) >= _RESOLVED_KEPT:
                self._resolved.clear()
            self._resolved[key] = code
        return code

    def _by_namespace(self, namespace: str) -> int:
        for _, pattern, code in self._patterns:
            if fnmatchcase(namespace, pattern):
                return code
        try:
            return self._named(namespace)
        except UnknownQueue:
            return self.default

    def _named(self, name: str) -> int:
        code = self.by_path.get(name)
        if code is not None:
            if self.is_leaf(code):
                return code
            raise UnknownQueue(f"queue {shown(name)} has children; submit to one of: {self._list(self.leaves(code))}")
        found = self._leaves_named.get(name, [])
        if len(found) == 1:
            return found[0]
        if found:
            raise UnknownQueue(f"several queues are called {shown(name)}; write one of: {self._list(found)}")
        for queue in self.queues[1:]:
            if queue.name == name:
                return self._named(queue.path)  # raises: it has children
        leaves = self.leaves()
        near = closest(name, [self.queues[leaf].path for leaf in leaves] + list(self._leaves_named))
        raise UnknownQueue(f"unknown queue {shown(name)}.{near} Known: {self._list(leaves)}")

    def _list(self, codes: Iterable[int]) -> str:
        paths = [self.queues[code].path for code in codes]
        more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
        return ", ".join(paths[:_LISTED]) + more
