"""The least utilised node: 1 - (40 % CPU + 40 % memory + 20 % disk share in use now)."""

from typing import ClassVar

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.view import View
from dovetail.model.strict import Strict
from dovetail.placement.contract import NoSettings, Request
from dovetail.placement.scores.shares import BLEND, blended, share_now


class LeastLoaded:
    name: ClassVar[str] = "least_loaded"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        return 1.0 - blended((share_now(view, name), weight) for name, weight in BLEND)
