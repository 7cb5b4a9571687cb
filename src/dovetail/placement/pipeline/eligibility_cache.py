"""Results of the eligibility filters, by the fields of a request that decide them, until a node changes.

Most shapes differ in amounts only: many tasks ask for few kinds of nodes. Filters say what decides them
(`Filter.decided_by`). A request to which another filter applies is evaluated every time.
"""

from collections.abc import Hashable, Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Generic, TypeVar

from dovetail.cluster.views.view import View
from dovetail.model.plugin_loading import PluginError
from dovetail.model.requests.shape import Shape
from dovetail.placement.contract import Filter, Request

KEPT_BYTES = 16 * 2**20
_DECIDING = frozenset({"scope", *(f"shape.{one.name}" for one in fields(Shape))})
R = TypeVar("R")


class EligibilityCache(Generic[R]):
    def __init__(self, filters: Iterable[Filter], outsiders: set[str]) -> None:
        """`outsiders`: names of filters of other packages, which may fail to say whether they apply."""
        self._kept: dict[Hashable, R] = {}
        self._as_of = -1
        self._filters = len(list(filters))
        declared = {plugin.name: plugin.decided_by for plugin in filters if plugin.decided_by is not None}
        names = dict.fromkeys([name for decided_by in declared.values() for name in decided_by])
        for name in names.keys() - _DECIDING:
            raise PluginError(f"a filter is decided by {name!r}; possible are {', '.join(sorted(_DECIDING))}")
        self._decided_by = attrgetter(*names)
        others = [plugin for plugin in filters if plugin.name not in declared]
        self._others = [plugin.applies for plugin in others]
        self._off = any(one.name in outsiders or type(one).applies is Filter.applies for one in others)

    def key(self, request: Request, view: View) -> Hashable | None:
        """None if the result must not be cached."""
        if self._off or request.among is not None or type(view) is not View:
            return None
        for applies in self._others:
            if applies(request):
                return None
        if self._as_of != view.status_as_of:
            self._as_of = view.status_as_of
            self._kept.clear()
        key: Hashable = self._decided_by(request)
        return key

    def get(self, key: Hashable) -> R | None:
        return self._kept.get(key)

    def keep(self, key: Hashable, found: R, view: View) -> None:
        if (len(self._kept) + 1) * self._filters * view.size > KEPT_BYTES:
            self._kept.clear()
        self._kept[key] = found
