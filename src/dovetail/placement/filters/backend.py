"""The node's backend is allowed, and the node can run this kind of workload."""

from fnmatch import fnmatchcase

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import STATUS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.placement.contract import OWN_NODE, Filter, Request


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
