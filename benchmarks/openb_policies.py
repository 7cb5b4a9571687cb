"""The published policies that are not ours, as profiles with plugins of their own: to show that the replay is right."""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import RESOURCES
from dovetail.cluster.devices import Slots
from dovetail.cluster.views.view import View
from dovetail.model.device import WHOLE
from dovetail.model.resources import CPU, GPU
from dovetail.placement import registry
from dovetail.placement.contract import Request, Score
from dovetail.placement.pipeline.profiles import BUILT_IN, ProfileSettings

LARGEST_CPU, LARGEST_GPU = 128_000.0, 8.0 * WHOLE  # of any node of theirs; both count alike


class AnyDevice(Score):
    """A share goes to any device with room for it, by lot."""

    name: ClassVar[str] = "openb_any_device"
    reads: ClassVar[frozenset[str]] = frozenset()
    chooses_devices: ClassVar[bool] = True

    def __init__(self) -> None:
        self._chance = np.random.default_rng(0)

    def points(self, request: Request, view: View) -> float:  # noqa: ARG002 - the contract's signature
        return 0.0

    def devices(self, request: Request, view: View) -> Slots | None:
        ask = request.shape.gpus
        if ask is None or ask.count:
            return None
        fits = np.flatnonzero(view.suitable_devices(ask)[0] & (view.device_free[0] >= ask.share))
        return (int(self._chance.choice(fits)),)


class SmallestRest(Score):
    """BestFit as published: the node with the least left of CPU and GPU, in whole percent; the device likewise, which
    is what our own table does."""

    name: ClassVar[str] = "openb_smallest_rest"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})

    def points(self, request: Request, view: View) -> F8 | float:
        cpu, gpu = view.free(CPU), view.free(GPU)
        if cpu is None or gpu is None:
            return 0.0
        left = (cpu - request.needs.get(CPU, 0.0)) / LARGEST_CPU + (gpu - request.needs.get(GPU, 0.0)) / LARGEST_GPU
        return np.trunc((1.0 - 0.5 * left) * 100.0) / 100.0


for plugin in (AnyDevice, SmallestRest):
    registry.SCORES.setdefault(plugin.name, plugin)
registry.scores.cache_clear()

RANDOM = ProfileSettings(scores={AnyDevice.name: 1}, select="random")
BEST_FIT = ProfileSettings(scores={SmallestRest.name: 1})
OURS = BUILT_IN["fragmentation"]
