"""GPUs one by one: `[node, slot]`, a slot being a device's number on its node.

    there    bool: the node has such a device
    free     int32: free thousandths of it; below 0 for a device that is in use though its node lost it
    models   int32: code of its model, 0 where that is not known
    memory   float64: bytes
    islands  int32: which island it is in, from 0
    whole    float64[node]: devices of which nothing is taken
    kinds    int32: code of its model and memory together, 0 where there is no device
    kind     int32[node]: that of all its devices; 0 where it has none, SEVERAL where they differ

Guarantees: placing one task of an ask lowers `copies` of that ask on its node by exactly one, whichever devices are
chosen, so that looking ahead is a subtraction; `choose` depends on the node's own row alone. Left to others: amounts
(`resources`), which hold also what is reserved; who has which device (`placements`).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, FIRST_CAPACITY, I4, Rows
from dovetail.model.device import WHOLE, Device, Gpus, devices_of
from dovetail.model.requests.asks import GpuAsk

Slots = tuple[int, ...]
_SUITABLE_KEPT = 64
SEVERAL = -1  # kinds of devices on one node


class DeviceTable:
    """Written by `Cluster` only."""

    def __init__(self) -> None:
        shape = (FIRST_CAPACITY, 0)
        self.there: B1 = np.zeros(shape, dtype=np.bool_)
        self.free: I4 = np.zeros(shape, dtype=np.int32)
        self.models: I4 = np.zeros(shape, dtype=np.int32)
        self.memory: F8 = np.zeros(shape)
        self.islands: I4 = np.zeros(shape, dtype=np.int32)
        self.whole: F8 = np.zeros(FIRST_CAPACITY)
        self.kinds: I4 = np.zeros(shape, dtype=np.int32)
        self.kind: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self.kind_list: list[tuple[str, int]] = [("", 0)]  # model and memory, by code
        self.split = 0  # devices of which a part is taken
        self.shares = 0  # parts that tasks have
        self.mixed = 0  # nodes with devices of several kinds
        self._codes: dict[str, int] = {"": 0}
        self._kind_codes: dict[tuple[str, int], int] = {}
        self._groups: dict[int, tuple[Gpus, ...]] = {}  # by row, as its node described them
        self._most_islands = 1
        self._suitable: dict[tuple[tuple[str, ...], int], B1] = {}

    # --- what nodes have -------------------------------------------------------------------------------------

    def widen(self, rows: int) -> None:
        self._grow(rows, self.free.shape[1])

    def _grow(self, rows: int, slots: int) -> None:
        for name in ("there", "free", "models", "memory", "islands", "kinds"):
            table = getattr(self, name)
            larger = np.zeros((rows, slots), dtype=table.dtype)
            larger[: table.shape[0], : table.shape[1]] = table
            setattr(self, name, larger)
        if rows > len(self.whole):
            self.whole = np.concatenate([self.whole, np.zeros(rows - len(self.whole))])
            self.kind = np.concatenate([self.kind, np.zeros(rows - len(self.kind), dtype=np.int32)])
        self._suitable.clear()

    def set_row(self, row: int, groups: Sequence[Gpus], count: int) -> bool:
        """Replace the GPUs of a node; tasks keep their slots. False if nothing changed."""
        groups = tuple(groups)
        if self._groups.get(row, ()) == groups and int(self.there[row].sum()) == count:
            return False
        devices = devices_of(groups, count)
        if len(devices) > self.free.shape[1]:
            self._grow(self.free.shape[0], len(devices))
        taken = self.taken(row)
        here = slice(0, len(devices))
        self.there[row] = False
        self.there[row, here] = True
        self.free[row] = WHOLE * self.there[row] - taken
        for table in (self.models, self.memory, self.islands, self.kinds):
            table[row] = 0
        kinds = [self._kind_code(device) for device in devices]
        self.kinds[row, here] = kinds
        self.mixed -= self.kind.item(row) == SEVERAL
        self.kind[row] = SEVERAL if len(set(kinds)) > 1 else max(kinds, default=0)
        self.mixed += self.kind.item(row) == SEVERAL
        if groups:  # without any, nothing is known of them
            codes = self._codes
            self.models[row, here] = [codes.setdefault(device.model, len(codes)) for device in devices]
            self.memory[row, here] = [device.memory for device in devices]
            self.islands[row, here] = [device.island for device in devices]
            self._most_islands = max(self._most_islands, 1 + devices[-1].island)
        self.whole[row] = np.count_nonzero(self.free[row] == WHOLE)
        self._suitable.clear()
        if groups:
            self._groups[row] = groups
        else:
            self._groups.pop(row, None)
        return True

    def _kind_code(self, device: Device) -> int:
        kind = (device.model, device.memory)
        found = self._kind_codes.setdefault(kind, len(self.kind_list))
        if found == len(self.kind_list):
            self.kind_list.append(kind)
        return found

    def groups(self, row: int) -> tuple[Gpus, ...]:
        """As the node described them; empty where it did not."""
        return self._groups.get(row, ())

    def devices(self, row: int) -> tuple[Device, ...]:
        """By slot."""
        return devices_of(self.groups(row), int(self.there[row].sum()))

    def taken(self, row: int) -> I4:
        """int32[slot]: thousandths that tasks have, also of devices that are gone."""
        found: I4 = WHOLE * self.there[row].astype(np.int32) - self.free[row]
        return found

    # --- taking and giving -----------------------------------------------------------------------------------

    def take(self, row: int, slots: Slots, each: int) -> None:
        """So many thousandths of each of the devices; -each gives them back."""
        if slots and slots[-1] >= self.free.shape[1]:  # of a node that has fewer now than when they were chosen
            self._grow(self.free.shape[0], slots[-1] + 1)
        free, there = self.free[row], self.there[row]
        if abs(each) < WHOLE:
            self.shares += len(slots) if each > 0 else -len(slots)
        for slot in slots:
            before = free.item(slot)
            after = before - each
            free[slot] = after
            full = WHOLE if there.item(slot) else 0
            self.split += (0 < full - after < WHOLE) - (0 < full - before < WHOLE)
            if full:
                self.whole[row] += (after == WHOLE) - (before == WHOLE)

    # --- what fits -------------------------------------------------------------------------------------------

    def suitable(self, ask: GpuAsk) -> B1:
        """bool[node, slot]: devices of an allowed model, with the memory, free or not."""
        if not ask.models and not ask.memory:
            return self.there
        found = self._suitable.get((ask.models, ask.memory))
        if found is None:
            found = self.there & (self.memory >= ask.memory)
            if ask.models:
                codes = [self._codes[model] for model in ask.models if model in self._codes]
                found &= np.isin(self.models, codes)
            if len(self._suitable) >= _SUITABLE_KEPT:
                self._suitable.clear()
            self._suitable[ask.models, ask.memory] = found
        return found

    def copies(self, ask: GpuAsk, rows: Rows | slice) -> F8:
        """float64[row of `rows`]: how many tasks of an ask the devices of each node have room for now."""
        if ask.count and not ask.is_picky:
            found: F8 = np.floor(self.whole[rows] / ask.count)
            return found
        suitable, free = self.suitable(ask)[rows], self.free[rows]
        if ask.count:
            return self._of_whole(ask, suitable & (free == WHOLE), rows)
        parts: F8 = (np.where(suitable, np.maximum(free, 0), 0) // ask.share).sum(axis=1).astype(np.float64)
        return parts

    def hosts(self, ask: GpuAsk, rows: Rows | slice) -> B1:
        """bool[row of `rows`]: `copies` of at least one, for less."""
        if ask.count:
            return self.copies(ask, rows) >= 1
        return (self.suitable(ask)[rows] & (self.free[rows] >= ask.share)).any(axis=1)  # type: ignore[return-value]

    def ever(self, ask: GpuAsk, rows: Rows | slice) -> B1:
        """bool[row of `rows`]: would one task of an ask fit if the node were empty?"""
        suitable = self.suitable(ask)[rows]
        if ask.count:
            return self._of_whole(ask, suitable, rows) >= 1
        return suitable.any(axis=1)  # type: ignore[return-value]

    def _of_whole(self, ask: GpuAsk, usable: npt.NDArray[np.bool_], rows: Rows | slice) -> F8:
        if not ask.same_island or self._most_islands == 1:
            return np.floor(usable.sum(axis=1) / ask.count)  # type: ignore[no-any-return]
        islands = self.islands[rows]
        found: F8 = np.zeros(len(usable))
        for island in range(self._most_islands):
            found += np.floor((usable & (islands == island)).sum(axis=1) / ask.count)
        return found

    def largest(self, ask: GpuAsk, rows: Rows | slice) -> F8:
        """float64[row of `rows`]: the most thousandths that one task could have of GPUs of that sort: of one, where it
        asks for a share, else of whole ones."""
        suitable, free = self.suitable(ask)[rows], self.free[rows]
        if not ask.count:
            return np.where(suitable, free, 0).max(axis=1, initial=0).astype(np.float64)  # type: ignore[no-any-return]
        each = ask._replace(count=1, same_island=False)
        if not ask.same_island:
            return self.copies(each, rows) * WHOLE
        fresh, islands = suitable & (free == WHOLE), self.islands[rows]
        found: F8 = np.zeros(len(fresh))
        for island in range(self._most_islands):
            found = np.maximum(found, (fresh & (islands == island)).sum(axis=1))
        return found * WHOLE

    # --- choosing --------------------------------------------------------------------------------------------

    def choose(self, row: int, ask: GpuAsk) -> Slots | None:
        """The devices that a task gets on a node, ascending; None where they do not fit. Models named earlier come
        first. A share goes to the device it fills most tightly. Whole devices come from the smallest island that has
        enough; if none has, from the islands with the most free devices."""
        free = self.free[row].tolist()
        if ask.count and not ask.is_picky and self._most_islands == 1:  # the commonest: any of them, the lowest first
            lowest = [slot for slot, left in enumerate(free) if left == WHOLE][: ask.count]
            return tuple(lowest) if len(lowest) == ask.count else None
        suitable, islands = self.suitable(ask)[row].tolist(), self.islands[row].tolist()
        rank = self._ranks(row, ask)
        fresh: dict[int, int] = {}  # by island, devices that are free as a whole
        for slot, left in enumerate(free):
            if left == WHOLE and suitable[slot]:
                fresh[islands[slot]] = fresh.get(islands[slot], 0) + 1
        usable = [slot for slot, left in enumerate(free) if suitable[slot] and left >= ask.each]
        if not ask.count:
            if not usable:
                return None
            return (min(usable, key=lambda slot: (rank[slot], free[slot], fresh.get(islands[slot], 0), slot)),)
        best: tuple[int, int, int, Slots] | None = None
        for island, number in fresh.items():
            if number >= ask.count:
                of_it = sorted(
                    (slot for slot in usable if islands[slot] == island), key=lambda slot: (rank[slot], slot)
                )
                slots = tuple(sorted(of_it[: ask.count]))
                key = (sum(rank[slot] for slot in slots), number, island, slots)
                best = key if best is None or key < best else best
        if best is not None:
            return best[3]
        if ask.same_island or len(usable) < ask.count:
            return None
        usable.sort(key=lambda slot: (rank[slot], -fresh[islands[slot]], islands[slot], slot))
        return tuple(sorted(usable[: ask.count]))

    def fits(self, row: int, ask: GpuAsk, slots: Slots) -> bool:
        """Could a task of an ask have these devices?"""
        suitable, free = self.suitable(ask)[row], self.free[row]
        if len(set(slots)) != (ask.count or 1) or any(not 0 <= slot < len(free) for slot in slots):
            return False
        return all(suitable[slot] and free[slot] >= ask.each for slot in slots)

    def _ranks(self, row: int, ask: GpuAsk) -> list[int]:
        """By slot, where in the order of preference its model is."""
        if len(ask.models) < 2:
            return [0] * self.free.shape[1]
        order = {self._codes[model]: i for i, model in enumerate(ask.models) if model in self._codes}
        return [order.get(code, len(order)) for code in self.models[row].tolist()]
