"""The oracle of fragments: one node, one typical ask, one device at a time, from the rules as they are written down."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

WHOLE = 1000


@dataclass(frozen=True)
class Gpu:
    model: str
    memory: int
    free: int  # thousandths


@dataclass(frozen=True)
class GpuNode:
    cpu: int
    memory: int
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True)
class Usual:
    """An ask and how often it comes. `share` is 0 where whole GPUs are asked for."""

    often: float
    cpu: int
    memory: int
    count: int = 0
    share: int = 0
    models: tuple[str, ...] = ()
    gpu_memory: int = 0

    @property
    def each(self) -> int:
        return WHOLE if self.count else self.share

    @property
    def gpu(self) -> int:
        return self.count * WHOLE or self.share

    def allows(self, gpu: Gpu) -> bool:
        return (not self.models or gpu.model in self.models) and gpu.memory >= self.gpu_memory


def unusable(node: GpuNode, usual: Sequence[Usual]) -> float:
    """Thousandths of GPUs: fragments and what is stranded."""
    free = sum(gpu.free for gpu in node.gpus)
    often = sum(ask.often for ask in usual)
    volume = sum(ask.often * ask.gpu for ask in usual)
    lost = 0.0
    for ask in usual:
        fitting = [gpu for gpu in node.gpus if ask.allows(gpu) and gpu.free >= ask.each]
        hosts = len(fitting) >= max(ask.count, 1) and node.cpu >= ask.cpu and node.memory >= ask.memory
        lost += ask.often / often * (free - (sum(gpu.free for gpu in fitting) if hosts else 0))
        allowed = sum(gpu.free for gpu in node.gpus if ask.allows(gpu))
        carried = min(node.cpu * ask.gpu / max(ask.cpu, 1), node.memory * ask.gpu / max(ask.memory, 1))
        lost += ask.often * ask.gpu / volume * max(0.0, allowed - carried)
    return lost


def with_task(node: GpuNode, cpu: int, memory: int, slots: Sequence[int], each: int) -> GpuNode:
    gpus = [replace(gpu, free=gpu.free - each) if i in slots else gpu for i, gpu in enumerate(node.gpus)]
    return GpuNode(max(0, node.cpu - cpu), max(0, node.memory - memory), tuple(gpus))


def gained(node: GpuNode, asked: Usual, usual: Sequence[Usual]) -> tuple[float, list[int]] | None:
    """Thousandths won (or lost, below 0) by the best way to place it there, and the devices that are best for a share;
    None where it does not fit the devices."""
    fitting = [slot for slot, gpu in enumerate(node.gpus) if asked.allows(gpu) and gpu.free >= asked.each]
    before = unusable(node, usual)
    if not asked.gpu:
        return before - unusable(with_task(node, asked.cpu, asked.memory, (), 0), usual), []
    if asked.count:
        if len(fitting) < asked.count:
            return None
        after = with_task(node, asked.cpu, asked.memory, fitting[: asked.count], WHOLE)
        return before - unusable(after, usual), []
    ways = {slot: unusable(with_task(node, asked.cpu, asked.memory, (slot,), asked.share), usual) for slot in fitting}
    if not ways:
        return None
    least = min(ways.values())
    return before - least, [slot for slot, lost in ways.items() if lost <= least + 1e-6]
