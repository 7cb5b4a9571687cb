"""Filters on the status of nodes: ready, and of a backend that is allowed and can run such a workload."""

from fnmatch import fnmatchcase

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.change_log import STATUS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Outcome, Refused
from dovetail.placement.contract import OWN_NODE, Concern, Filter, RefusalSummary, Request, count_nodes


class ReadyFilter(Filter):
    """The node is online, neither cordoned nor in quarantine, and its backend answers."""

    name = "ready"
    reason = "not_ready"
    reads = frozenset({STATUS})
    concern = Concern.MOMENT
    wakes_on = OWN_NODE
    decided_by = ()

    def mask(self, request: Request, view: View) -> B1 | bool:  # noqa: ARG002 (the same for every request)
        return view.ready

    def refuse(self, request: Request, view: View, position: int) -> Refused:  # noqa: ARG002
        why = view.status_reason(position)
        tail = f": {why}" if why else ""
        backend = int(view.backend_codes[position])
        if not view.present[position]:
            reason, message = "offline", "the node left the cluster"
        elif not view.online[position]:
            reason, message = "offline", f"the node is offline{tail}"
        elif not view.backend_available[backend]:
            reason = Outcome.BACKEND_UNAVAILABLE.value
            name = view.backend_names[backend]
            message = f"its backend {name!r} does not answer; dovetail backend {name} shows why"
        elif not view.cordoned[position]:
            reason, message = "quarantined", f"the node is {why}; {_uncordon(view.name(position))}"
        else:
            reason, message = "cordoned", f"the node is cordoned{tail}; {_uncordon(view.name(position))}"
        return Refused(self.name, reason, message, Eviction.NEVER)

    def summarise(self, request: Request, view: View, candidates: B1) -> RefusalSummary:  # noqa: ARG002
        """Counts all nodes, also where only some are candidates."""
        total = int(view.present.sum())
        if not total:
            return RefusalSummary(
                Outcome.NO_AVAILABLE_NODES, "there are no nodes yet: register one or configure a backend"
            )
        online, cordoned = view.online, view.cordoned
        quarantined = online & ~cordoned & view.quarantined
        usable = online & ~cordoned & ~quarantined
        if usable.any():
            codes = np.bincount(view.backend_codes[usable]).nonzero()[0].tolist()
            down = ", ".join(repr(view.backend_names[code]) for code in codes)
            message = f"{count_nodes(int(usable.sum()))} could take it, but backend {down} does not answer"
            return RefusalSummary(Outcome.BACKEND_UNAVAILABLE, f"{message}; dovetail backend shows why")
        counts = {
            "cordoned": int((online & cordoned).sum()),
            "in quarantine": int(quarantined.sum()),
            "offline": total - int(online.sum()),
        }
        return RefusalSummary(Outcome.NO_AVAILABLE_NODES, f"{_none_takes(total, counts)}; {_what_helps(total, counts)}")


def _uncordon(node: str) -> str:
    return f"dovetail uncordon {node} lets it take work again"


def _none_takes(total: int, counts: dict[str, int]) -> str:
    """`all 4 nodes are cordoned`, `none of 4 nodes takes work: 3 cordoned, 1 offline`."""
    found = {word: number for word, number in counts.items() if number}
    if len(found) == 1:
        every = f"all {count_nodes(total)} are" if total > 1 else "the only node is"
        return f"{every} {next(iter(found))}"
    return f"none of {count_nodes(total)} takes work: {', '.join(f'{n} {word}' for word, n in found.items())}"


def _what_helps(total: int, counts: dict[str, int]) -> str:
    """The command that brings nodes back; offline nodes need more than a command."""
    if counts["cordoned"] or counts["in quarantine"]:
        return f"dovetail uncordon NODE lets {'one' if total > 1 else 'it'} take work again"
    return "dovetail nodes -o wide shows why"


def _allowed(backend: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(backend, pattern) for pattern in patterns)


def runnable(request: Request, view: View) -> B1 | bool:
    """Nodes of allowed backends that can run such a workload."""
    runs_kind = view.runs(request.shape.kind)
    if not request.shape.backends:
        return runs_kind
    allowed = np.array([_allowed(name, request.shape.backends) for name in view.backend_names], dtype=np.bool_)
    if not len(allowed):
        return False
    backends: B1 = allowed[view.backend_codes]
    return backends if runs_kind is True else backends & runs_kind


class BackendFilter(Filter):
    """The node's backend is allowed, and the node can run this kind of workload."""

    name = "backend"
    reason = "backend_not_allowed"
    reads = frozenset({STATUS})
    wakes_on = OWN_NODE
    decided_by = ("shape.kind", "shape.backends")

    def mask(self, request: Request, view: View) -> B1 | bool:
        return runnable(request, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        backend = view.backend_names[int(view.backend_codes[position])]
        if _allowed(backend, request.shape.backends):
            message = f"backend {backend!r} cannot run a {request.shape.kind} here"
            return Refused(self.name, "kind_unsupported", message)
        message = f"backend {backend!r} is not among those allowed: {', '.join(request.shape.backends)}"
        return Refused(self.name, self.reason, message)
