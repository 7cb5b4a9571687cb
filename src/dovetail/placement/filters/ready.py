"""The node is online, neither cordoned nor in quarantine, and its backend answers."""

from typing import ClassVar

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import STATUS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Outcome, Refused
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class ReadyFilter:
    name: ClassVar[str] = "ready"
    reason: ClassVar[str] = "not_ready"
    reads: ClassVar[frozenset[str]] = frozenset({STATUS})
    Settings: ClassVar[type[Strict]] = NoSettings

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
            message = f"its backend {view.backend_names[backend]!r} does not answer"
        elif not view.cordoned[position]:
            reason, message = "quarantined", f"the node is in quarantine{tail}"
        else:
            reason, message = "cordoned", f"the node is cordoned{tail}"
        return Refused(self.name, reason, message, Eviction.NEVER)
