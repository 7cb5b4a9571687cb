"""Quiet racks first: a score that reads a label column and an allocation column.

A node in one of the racks named in settings gets a half, and up to another half the fewer tasks it runs; any other
node gets nothing. Each node's points depend on that node alone: that is what lets Dovetail keep them and ask again
only for the nodes that changed.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dovetail.cluster.change_log import LABELS, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.requests.asks import Match
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.selection import LabelKey, LabelValue, Operator
from dovetail.placement.contract import Request, Score


class QuietRackSettings(Strict):
    """`quiet` are values of the label that says in which rack a node is."""

    label: LabelKey = "rack"
    quiet: list[LabelValue] = Field(min_length=1)


class QuietRack(Score):
    name: ClassVar[str] = "quiet_rack"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS, RESOURCES})
    Settings: ClassVar[type[Strict]] = QuietRackSettings

    def __init__(self, settings: QuietRackSettings) -> None:
        self._in_quiet_rack = Match(settings.label, Operator.IN, tuple(settings.quiet))

    def points(self, request: Request, view: View) -> npt.NDArray[np.float64] | float:  # noqa: ARG002 (the same for all)
        quiet = view.matches(self._in_quiet_rack)
        if quiet is False:  # no node carries the label with such a value
            return 0.0
        running, inverse = view.allocated("slots"), view.inverse_capacity("slots")
        assert running is not None, "every cluster has slots"
        assert inverse is not None
        return quiet * (1.0 - 0.5 * running * inverse)
