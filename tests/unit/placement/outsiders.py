"""Plugins as other packages might write them: good ones, and every way of being bad. Found by name in entry points."""

from typing import Any, ClassVar

import numpy as np

from dovetail.cluster.change_log import LABELS, PLACEMENTS, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.reason import Refused
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import Filter, NoSettings, Request, Score
from dovetail.placement.filters.node_labels import labels_term
from dovetail.placement.gangs.domain_features import Prospect


class LimitSettings(Strict):
    most: int = 3


class FussySettings(Strict):
    sign: int


class Good(Filter):
    """A filter with settings: at most so many tasks a node."""

    name: ClassVar[str] = "limit"
    reason: ClassVar[str] = "too_many_tasks"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = LimitSettings

    def __init__(self, settings: LimitSettings) -> None:
        self.most = settings.most

    def mask(self, request: Request, view: View) -> Any:
        slots = view.allocated("slots")
        assert slots is not None
        return slots < self.most

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, f"{view.name(position)} already runs {self.most} tasks")


class Declared(Filter):
    """Looks at the labels of nodes alone, and says so."""

    name: ClassVar[str] = "declared"
    reason: ClassVar[str] = "not_in_zone_a"
    decided_by: ClassVar[tuple[str, ...]] = ()

    def mask(self, request: Request, view: View) -> Any:
        return view.satisfies(labels_term((("zone", "a"),)))

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        return Refused(self.name, self.reason, f"{view.name(position)} is not in zone a")


class Misdeclared(Declared):
    name: ClassVar[str] = "misdeclared"
    decided_by = ("shape.colour",)


class OddFilter(Filter):
    """Answers whatever it was last told to; raises if that is an exception."""

    name: ClassVar[str] = "odd_filter"
    reason: ClassVar[str] = "odd"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings
    answer: ClassVar[Any] = True

    def mask(self, request: Request, view: View) -> Any:
        return _given(self.answer, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        raise RuntimeError("lost for words")


class OddStrategy:
    """Answers whatever it was last told to, about as many domains as there are."""

    name: ClassVar[str] = "odd_strategy"
    Settings: ClassVar[type[Strict]] = NoSettings
    answer: ClassVar[Any] = None

    def points(self, prospect: Prospect) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(prospect) if callable(self.answer) else self.answer


class FussyStrategy:
    """Needs a setting that has no default."""

    name: ClassVar[str] = "fussy"
    Settings: ClassVar[type[Strict]] = FussySettings

    def __init__(self, settings: FussySettings) -> None:
        self.sign = settings.sign

    def points(self, prospect: Prospect) -> Any:
        return self.sign * np.arange(prospect.domains)


class OddScore(Score):
    name: ClassVar[str] = "odd_score"
    reads: ClassVar[frozenset[str]] = frozenset({LABELS})
    Settings: ClassVar[type[Strict]] = NoSettings
    answer: ClassVar[Any] = 0.0

    def points(self, request: Request, view: View) -> Any:
        return _given(self.answer, view)


def _given(answer: Any, view: View) -> Any:
    if isinstance(answer, BaseException):
        raise answer
    return answer(view) if callable(answer) else answer


class ByRow(Score):
    """A score that a test can follow: the later a node joined, the better."""

    name: ClassVar[str] = "by_row"
    reads: ClassVar[frozenset[str]] = frozenset()
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> Any:
        return view.rows * 0.01


class CountsTasks(Score):
    """Reads placements, so nothing may be evaluated ahead: the fewer tasks of any service, the better."""

    name: ClassVar[str] = "counts_tasks"
    reads: ClassVar[frozenset[str]] = frozenset({PLACEMENTS})
    Settings: ClassVar[type[Strict]] = NoSettings

    def points(self, request: Request, view: View) -> Any:
        counts = view.service_counts("default", "web")
        return np.zeros(view.size) if counts is None else -counts


class Misnamed(ByRow):
    name: ClassVar[str] = "something_else"


class ReadsUnknown(ByRow):
    name: ClassVar[str] = "reads_unknown"
    reads: ClassVar[frozenset[str]] = frozenset({"weather"})


class HasNoMask(Filter):
    name: ClassVar[str] = "has_no_mask"
    reason: ClassVar[str] = "x"

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        raise NotImplementedError


class HasNoReason(OddFilter):
    name: ClassVar[str] = "has_no_reason"
    reason: ClassVar[Any] = None


class CannotBeBuilt(ByRow):
    name: ClassVar[str] = "cannot_be_built"

    def __init__(self) -> None:
        raise OSError("no licence server")
