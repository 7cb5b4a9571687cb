"""Settled domains first: a strategy by which gangs keep away from where nodes will be taken down soon.

A domain has as many points as its share of nodes without such a mark, and a little for being filled tightly, so that
of domains without any mark the one is taken that leaves least over. Points are for all domains of the level at once.
"""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dovetail.model.requests.asks import Match
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.selection import LabelKey, LabelValue, Operator
from dovetail.placement.gangs.domain_features import Prospect


class SettledDomainSettings(Strict):
    """A node is marked by a label with one of these values."""

    label: LabelKey = "maintenance"
    values: list[LabelValue] = Field(default=["planned"], min_length=1)


class SettledDomain:
    name: ClassVar[str] = "settled_domain"
    Settings: ClassVar[type[Strict]] = SettledDomainSettings

    def __init__(self, settings: SettledDomainSettings) -> None:
        self._marked = Match(settings.label, Operator.IN, tuple(settings.values))

    def points(self, prospect: Prospect) -> npt.NDArray[np.float64]:
        everyone = np.ones(prospect.view.size)
        marked = prospect.sums(everyone * prospect.view.matches(self._marked)) / prospect.sums(everyone)
        return 1.0 - marked + 0.01 * prospect.feature("tightness")
