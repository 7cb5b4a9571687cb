"""The pipelines of all profiles, and where those that take turns stand."""

from collections.abc import Mapping

from dovetail.cluster.state import Cluster
from dovetail.engine.settings import Router
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.pipeline.profiles import BUILT_IN, WITH_MARKET


class Pipelines(dict[str, Pipeline]):
    """By name of the profile. Those of the settings are built at once, so that a start says what is wrong with them;
    built-in ones, and those with the market, when the first work needs them."""

    def __init__(self, router: Router, cluster: Cluster, seed: int) -> None:
        super().__init__()
        self._router, self._cluster, self._seed = router, cluster, seed
        for name, settings in router.profiles.items():
            if settings is not BUILT_IN.get(name) or settings.select == "round_robin":
                self[name] = Pipeline(name, settings, cluster, seed)
        self._round_robin = [one for one in self.values() if one.settings.select == "round_robin"]
        self._recorded_cursors = {one.name: one.cursor for one in self._round_robin}

    def __missing__(self, name: str) -> Pipeline:
        if name.removesuffix(WITH_MARKET) not in self._router.profiles:
            raise KeyError(name)
        found = self[name] = Pipeline(name, self._router.settings_of(name), self._cluster, self._seed)
        return found

    def set_cursors(self, rows: Mapping[str, int]) -> None:
        """Round-robin profiles continue after these rows. Other profiles ignore them."""
        for pipeline in self._round_robin:
            if pipeline.name in rows:
                pipeline.cursor = self._recorded_cursors[pipeline.name] = rows[pipeline.name]

    def take_cursors(self) -> dict[str, int]:
        """Those that moved since the last call."""
        moved = {one.name: one.cursor for one in self._round_robin if one.cursor != self._recorded_cursors[one.name]}
        self._recorded_cursors |= moved
        return moved
