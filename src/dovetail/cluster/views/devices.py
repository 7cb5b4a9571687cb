"""Columns of GPUs, one by one: which are free, which suit an ask, how many tasks they have room for."""

from collections.abc import Sequence

from dovetail.cluster.arrays import B1, F8, I4
from dovetail.cluster.views.rows import RowsOfView
from dovetail.model.device import Gpus
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.resources import GPU


class DeviceColumns(RowsOfView):
    def device_copies(self, ask: GpuAsk) -> F8:
        """How many tasks of an ask the GPUs of each node have room for."""
        return self._cluster.devices.copies(ask, self._which)

    def has_devices(self, ask: GpuAsk) -> B1:
        """Which nodes' GPUs have room for one task of an ask."""
        return self._cluster.devices.hosts(ask, self._which)

    def largest_devices(self, ask: GpuAsk) -> F8:
        """The most thousandths of GPUs that one task of such an ask could have on each node."""
        return self._cluster.devices.largest(ask, self._which)

    def could_have_devices(self, ask: GpuAsk) -> B1:
        """bool[node]: nodes on which one task of an ask would fit if all their GPUs were free."""
        return self._cluster.devices.ever(ask, self._which)

    @property
    def amounts_tell_devices(self) -> bool:
        """As many whole GPUs are free as the amounts say, on every node: none is shared, none given out twice."""
        return not self._cluster.devices.split and self._tables.overcommit.get(GPU, 1.0) <= 1.0

    def free_parts(self, ask: GpuAsk, position: int) -> list[int]:
        """Of each GPU of one node that suits an ask, the thousandths that are free, where any are."""
        devices, row = self._cluster.devices, int(self.rows[position])
        parts: list[int] = devices.free[row][devices.suitable(ask)[row]].tolist()
        return [part for part in parts if part > 0]

    def device_groups(self, position: int) -> Sequence[Gpus]:
        """The GPUs of one node as it described them."""
        return self._cluster.devices.groups(int(self.rows[position]))

    @property
    def device_slots(self) -> int:
        """GPUs that the node with the most of them has."""
        return int(self._cluster.devices.free.shape[1])

    @property
    def device_free(self) -> I4:
        """int32[node, slot]: free thousandths of each GPU."""
        return self._cluster.devices.free[self._which]

    def suitable_devices(self, ask: GpuAsk) -> B1:
        """bool[node, slot]: GPUs that an ask allows, free or not."""
        return self._cluster.devices.suitable(ask)[self._which]

    @property
    def device_kinds(self) -> I4:
        """int32[node, slot]: the kind of each GPU, 0 where there is none."""
        return self._cluster.devices.kinds[self._which]

    @property
    def device_kind(self) -> I4:
        """int32[node]: the kind of all of its GPUs, 0 where it has none, SEVERAL where they differ."""
        return self._cluster.devices.kind[self._which]

    @property
    def has_mixed_devices(self) -> bool:
        """Has any node of the cluster GPUs of several kinds?"""
        return self._cluster.devices.mixed > 0

    @property
    def device_kind_list(self) -> Sequence[tuple[str, int]]:
        """Model and memory of each kind."""
        return self._cluster.devices.kind_list
