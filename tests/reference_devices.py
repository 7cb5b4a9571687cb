"""The oracle's GPUs: one node's devices as plain records, every rule about them written out one device at a time."""

from collections.abc import Hashable
from dataclasses import dataclass, field

from dovetail.model.node import Node
from dovetail.model.resources import ResourceRequest

WHOLE = 1000


@dataclass(frozen=True)
class Gpu:
    model: str
    memory: int
    island: int


@dataclass
class ReferenceGpus:
    """`held`: by task, the thousandths it has of each slot. A slot that its node lost stays with whoever has it."""

    gpus: list[Gpu] = field(default_factory=list)
    held: dict[Hashable, dict[int, int]] = field(default_factory=dict)

    def redefine(self, definition: Node) -> None:
        if not definition.gpus:
            self.gpus = [Gpu("", 0, 0) for _ in range(definition.capacity.gpu)]
            return
        self.gpus, island = [], 0
        for group in definition.gpus:
            for _ in range(group.islands):
                for _ in range(group.count // group.islands):
                    self.gpus.append(Gpu(group.model or "", group.memory, island))
                island += 1

    def used(self, slot: int) -> int:
        return sum(parts.get(slot, 0) for parts in self.held.values())

    def suits(self, asked: ResourceRequest, gpu: Gpu) -> bool:
        return (not asked.gpu_model or gpu.model in asked.gpu_model) and gpu.memory >= asked.gpu_memory

    def could_have(self, asked: ResourceRequest) -> bool:
        """If nobody had any of them. A task to which any GPU will do is not asked about."""
        if not (asked.gpu_model or asked.gpu_memory or (asked.gpu_island and asked.gpu > 1)):
            return True
        suitable = [gpu for gpu in self.gpus if self.suits(asked, gpu)]
        if asked.gpu < 1:
            return bool(suitable)
        if asked.gpu_island:
            return any(sum(gpu.island == one.island for gpu in suitable) >= asked.gpu for one in suitable)
        return len(suitable) >= asked.gpu

    def choose(self, asked: ResourceRequest) -> tuple[int, ...] | None:
        """Preferred models first; a share where it fits most tightly; whole ones from the island with the fewest that
        suffice, or else from those with the most."""
        suitable = [slot for slot, gpu in enumerate(self.gpus) if self.suits(asked, gpu)]
        fresh = [slot for slot in suitable if not self.used(slot)]

        def rank(slot: int) -> int:
            return asked.gpu_model.index(self.gpus[slot].model) if asked.gpu_model else 0

        def fresh_beside(slot: int) -> int:
            return sum(self.gpus[other].island == self.gpus[slot].island for other in fresh)

        if asked.gpu < 1:
            share = round(asked.gpu * WHOLE)
            fitting = [slot for slot in suitable if WHOLE - self.used(slot) >= share]
            if not fitting:
                return None
            return (min(fitting, key=lambda slot: (rank(slot), -self.used(slot), fresh_beside(slot), slot)),)
        count = int(asked.gpu)
        within = []
        for island in {self.gpus[slot].island for slot in fresh}:
            here = sorted((slot for slot in fresh if self.gpus[slot].island == island), key=lambda s: (rank(s), s))
            if len(here) >= count:
                within.append((sum(map(rank, here[:count])), len(here), island, tuple(sorted(here[:count]))))
        if within:
            return min(within)[3]
        if len(fresh) < count or (asked.gpu_island and count > 1):
            return None
        order = sorted(fresh, key=lambda slot: (rank(slot), -fresh_beside(slot), self.gpus[slot].island, slot))
        return tuple(sorted(order[:count]))

    def take(self, task: Hashable, asked: ResourceRequest) -> None:
        if asked.gpu:
            each = round(asked.gpu * WHOLE) if asked.gpu < 1 else WHOLE
            self.held[task] = dict.fromkeys(self.choose(asked) or (), each)

    def give(self, task: Hashable) -> None:
        self.held.pop(task, None)

    def slots(self, task: Hashable) -> tuple[int, ...]:
        return tuple(self.held.get(task, ()))

    def preference(self, asked: ResourceRequest) -> float:
        """1 where it has enough of the best model, less for later ones, 0 where all are alike."""
        if len(asked.gpu_model) < 2:
            return 0.0
        for i, model in enumerate(asked.gpu_model):
            if self.could_have(asked.model_copy(update={"gpu_model": [model]})):
                return 1.0 - i * (1.0 / len(asked.gpu_model))
        return 0.0
