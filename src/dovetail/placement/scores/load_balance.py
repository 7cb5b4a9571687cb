"""Idle nodes first: 1 - the node's load (mean share of CPU, memory and task slots in use)."""

from typing import ClassVar

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import NoSettings, Request


class LoadBalanceScore:
    name: ClassVar[str] = "load_balance"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        return view.idle
