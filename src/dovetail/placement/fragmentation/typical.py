"""The expected workload mix as arrays: the GPU requests seen so far, each with its frequency.

    weights   float64[ask]: how often, summing to 1
    volumes   float64[ask]: the share of all GPUs asked for, summing to 1

Requests that differ only in the models they allow are equal to a node whose GPUs are all of one kind, once it is known
which of them allow that kind. So the arrays `cpu`, `memory`, `count`, … are over distinct *sizes*, and the frequency of
each size is given for each kind of device.
Guarantees: the same requests in the same order give the same arrays. Left to others: what was seen
(`engine.workload_mix`), what of a node it can use (`unusable`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.model.device import WHOLE
from dovetail.model.requests.asks import GpuAsk
from dovetail.model.text.quantity import format_cores, show_bytes

Kind = tuple[str, int]  # model and bytes of memory of a device


class TypicalAsk(NamedTuple):
    """The part of a task's request that matters to fragmentation: millicores, bytes, GPUs."""

    cpu: int
    memory: int
    gpus: GpuAsk

    @property
    def gpu(self) -> int:
        """Thousandths of GPUs."""
        return self.gpus.count * WHOLE or self.gpus.share

    def allows(self, kind: Kind) -> bool:
        model, memory = kind
        return (not self.gpus.models or model in self.gpus.models) and memory >= self.gpus.memory

    def __str__(self) -> str:
        return f"{self.gpus}, {format_cores(self.cpu / 1000)} CPU, {show_bytes(self.memory)}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Asks without the models they allow. All `[size]`."""

    cpu: F8
    memory: F8
    number: Rows  # of devices
    part: F8  # thousandths of each device
    each: Rows  # the same as an index into `levels`
    levels: F8
    per_cpu: F8  # thousandths of GPUs for each millicore
    per_memory: F8  # thousandths of GPUs for each byte
    most: int  # devices that any of them has


_BY_SIZE = ("cpu", "memory", "number", "part", "each", "per_cpu", "per_memory")


class Typical:
    def __init__(self, asks: Sequence[TypicalAsk], counts: Sequence[float]) -> None:
        assert asks, "nothing is usual where nothing was seen"
        self.asks = tuple(asks)
        number = np.array(counts, dtype=np.float64)
        gpu = np.array([ask.gpu for ask in asks], dtype=np.float64)
        self.weights: F8 = number / number.sum()
        self.volumes: F8 = self.weights * gpu / (self.weights * gpu).sum()
        self._kinds: list[Kind] = []
        self._allowed: B1 = np.zeros((0, len(asks)), dtype=np.bool_)
        self._by_kind: tuple[F8, F8] = (np.zeros((0, 0)), np.zeros((0, 0)))

    @cached_property
    def _size_of(self) -> tuple[Sizes, Rows]:
        rows = [(ask.cpu, ask.memory, ask.gpus.count or 1, ask.gpus.each) for ask in self.asks]
        return sizes_of(rows)

    @property
    def sizes(self) -> Sizes:
        return self._size_of[0]

    @cached_property
    def ask_sizes(self) -> Sizes:
        """One size an ask, in their order."""
        size, at = self._size_of
        return replace(size, **{name: getattr(size, name)[at] for name in _BY_SIZE})

    def allowed(self, kinds: Sequence[Kind]) -> B1:
        """bool[kind, ask]; `kinds` only ever grows."""
        self._learn(kinds)
        return self._allowed

    def by_kind(self, kinds: Sequence[Kind]) -> tuple[F8, F8]:
        """float64[kind, size]: weights and volumes of the asks of each size that allow the kind."""
        self._learn(kinds)
        return self._by_kind

    def _learn(self, kinds: Sequence[Kind]) -> None:
        if len(kinds) == len(self._kinds):
            return
        self._kinds = list(kinds)
        self._allowed = np.array([[ask.allows(kind) for ask in self.asks] for kind in kinds], dtype=np.bool_)
        sizes, at = self._size_of
        found = []
        for amounts in (self.weights, self.volumes):
            table = np.zeros((len(kinds), len(sizes.cpu)))
            np.add.at(table.T, at, (self._allowed * amounts).T)
            found.append(table)
        self._by_kind = (found[0], found[1])


def sizes_of(rows: Sequence[tuple[int, int, int, int]]) -> tuple[Sizes, Rows]:
    """Distinct (millicores, bytes, devices, thousandths of each), in order of first appearance, and which each is."""
    index: dict[tuple[int, int, int, int], int] = {}
    at = np.array([index.setdefault(row, len(index)) for row in rows], dtype=np.intp)
    columns = np.array(list(index), dtype=np.float64).T
    cpu, memory, count, part = columns
    levels, each = np.unique(part, return_inverse=True)
    gpu = count * part
    per_cpu, per_memory = gpu / np.maximum(cpu, 1.0), gpu / np.maximum(memory, 1.0)
    return Sizes(cpu, memory, count.astype(np.intp), part, each, levels, per_cpu, per_memory, int(count.max())), at
