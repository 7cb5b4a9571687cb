"""What a plugin sees: columns over some nodes, never the cluster itself.

A view covers all rows, or a chosen subset of them, or a subset as it *would* be after taking on a number of copies
of one request. Plugins cannot tell the difference, which is what makes caching, explaining one node and looking
ahead the same code as deciding. All arrays have one entry a row of the view and must not be written.
"""

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, I4, Rows
from dovetail.cluster.resources import loads
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.devices import DeviceColumns
from dovetail.cluster.views.nodes import NodeColumns
from dovetail.cluster.views.offers import OfferColumns
from dovetail.cluster.views.resources import ResourceColumns
from dovetail.cluster.views.surroundings import SurroundingColumns
from dovetail.model.device import WHOLE
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.resources import GPU


class View(ResourceColumns, DeviceColumns, NodeColumns, OfferColumns, SurroundingColumns):
    """Every row of the cluster."""

    def subset(self, rows: Rows) -> "View":
        return _Subset(self._cluster, rows)

    def after(self, rows: Rows, column: F8, copies: npt.NDArray[np.float64]) -> "View":
        """The rows as they would be with `copies[i]` more of `column` placed on row i (rows may repeat)."""
        return _Ahead(self._cluster, rows, column, copies)

    @property
    def whole(self) -> "View":
        """All rows, for what a node cannot be judged without: its domain."""
        return View(self._cluster)


class _Subset(View):
    """Rows exist, so nothing is clipped: NumPy is twice as fast when it need not check each of them."""

    def __init__(self, cluster: Cluster, rows: Rows) -> None:
        super().__init__(cluster)
        self._rows = rows
        self.size = len(rows)

    def _cut(self, array: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]
        return array.take(self._rows, axis=0, mode="clip")

    def _row(self, table: npt.NDArray[np.float64], index: int) -> F8:
        found: F8 = table[index].take(self._rows, mode="clip")
        return found

    @property
    def _which(self) -> Rows | slice:
        return self._rows

    def name(self, position: int) -> str:
        return self._cluster.names[int(self._rows[position])]

    @property
    def rows(self) -> Rows:
        return self._rows

    def subset(self, rows: Rows) -> View:
        return _Subset(self._cluster, self._rows[rows])


class _Ahead(_Subset):
    """Allocations are whole numbers, so `copies * column` equals adding one after the other, to the bit."""

    def __init__(self, cluster: Cluster, rows: Rows, column: F8, copies: F8) -> None:
        super().__init__(cluster, rows)
        self._more = column[:, None] * copies
        self._copies = copies

    def _extra(self, resource: str) -> F8 | None:
        index = self._cluster.resources.index.get(resource)
        return self._more[index] if index is not None and index < len(self._more) else None

    def all_have(self, resource: str, needed: float) -> bool:  # noqa: ARG002 (the bound is about now)
        return False

    def device_copies(self, ask: GpuAsk) -> F8:
        """Of the ask that is placed ahead: each copy leaves room for one less."""
        return super().device_copies(ask) - self._copies

    def has_devices(self, ask: GpuAsk) -> B1:
        return self.device_copies(ask) >= 1

    @property
    def device_free(self) -> I4:
        raise NotImplementedError(
            "which GPUs copies would get is not known ahead; a score that asks has no looks_ahead"
        )

    @property
    def amounts_tell_devices(self) -> bool:
        return super().amounts_tell_devices and not (self._more[self._index[GPU]] % WHOLE).any()

    def allocated(self, resource: str) -> F8 | None:
        found, extra = super().allocated(resource), self._extra(resource)
        return found if found is None or extra is None else found + extra

    def free(self, resource: str) -> F8 | None:
        found, extra = super().free(resource), self._extra(resource)
        return found if found is None or extra is None else found - extra

    def free_share(self, resource: str) -> F8 | None:
        free, inverse = self.free(resource), self.inverse_capacity(resource)
        return None if free is None or inverse is None else free * inverse

    def free_observed(self, resource: str) -> F8 | None:
        found, extra = super().free_observed(resource), self._extra(resource)
        return found if found is None or extra is None else found - extra

    @property
    def load(self) -> F8:
        tables = self._cluster.resources
        allocated = tables.allocated[:, self._rows]
        allocated[: len(self._more)] += self._more
        return loads(allocated, tables.inverse[:, self._rows])

    @property
    def idle(self) -> F8:
        return 1.0 - self.load
