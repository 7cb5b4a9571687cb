"""The host of subsystems: builds them from settings, runs them as long as the control plane, feeds and watches them.

Guarantees: whatever a subsystem does wrong (its package cannot be loaded, it raises, hangs, is slow, its metrics or
routes fail) is logged, counted and shown in `health`, and nothing else stops. Subsystems named in the settings run, and
those that always do.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from dovetail.asyncio_tasks import cancel
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.subsystems.contract import ControlAccess, DurableStep, Subsystem, SubsystemContext
from dovetail.control.subsystems.declaration import SubsystemDeclaration
from dovetail.control.subsystems.registry import BUILT_IN, checked_settings, find_subsystem
from dovetail.control.subsystems.runner import RunnerLimits, RunState, SubsystemHealth, SubsystemRunner
from dovetail.model.plugin_loading import PluginError, load_object
from dovetail.store.subsystem_tables import SubsystemTables

SUPERVISE_S = 0.5
#: Steps are handed on together, once in so long: each thread that wakes up takes the interpreter from the control loop.
GATHERED_S = 0.04

log = structlog.get_logger()


class SubsystemHost:
    """`given`: settings by name. `folder`: where subsystems keep files, each in a folder of its own. Also a collector
    for the Prometheus registry of the control plane."""

    def __init__(
        self, given: Mapping[str, Mapping[str, Any]], folder: Path, limits: RunnerLimits | None = None
    ) -> None:
        self._folder, self._limits = folder, limits
        self._hosted: dict[str, _Hosted] = {}
        self._unusable: dict[str, str] = {}  # by name: why it cannot be loaded
        self._watching: asyncio.Task[None] | None = None
        self._gathered: list[DurableStep] = []
        for name in dict.fromkeys([*given, *(one.name for one in BUILT_IN.values() if one.always)]):
            try:
                self._hosted[name] = _Hosted(find_subsystem(name), given.get(name, {}), folder / name)
            except Exception as error:  # a package of others may raise anything
                self._is_unusable(name, error)

    def _is_unusable(self, name: str, error: Exception) -> None:
        words = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
        log.error("subsystem cannot be used", subsystem=name, error=words)
        self._unusable[name] = words

    # --- starting and stopping ---------------------------------------------------------------------------------

    def start(self, control: ControlAccess) -> None:
        for name, hosted in self._hosted.items():
            build = hosted.builder(control)
            hosted.runner = SubsystemRunner(name, build, hosted.declaration.hang_s, self._limits)
            hosted.runner.supervise()
        self._watching = asyncio.create_task(self._watch(), name="subsystems: watching")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(SUPERVISE_S)
            for runner in self._runners():
                runner.supervise()

    async def stop(self) -> None:
        """What is queued is still taken, as far as a few seconds allow."""
        await cancel(self._watching)
        self._hand_on()
        runners = list(self._runners())
        for runner in runners:
            runner.request_stop()
        await asyncio.gather(*(on_store_thread(runner.join) for runner in runners))
        for hosted in self._hosted.values():
            if hosted.tables is not None:
                hosted.tables.close()

    # --- at work -----------------------------------------------------------------------------------------------

    def feed(self, step: DurableStep) -> None:
        if not self._gathered:
            asyncio.get_running_loop().call_later(GATHERED_S, self._hand_on)
        self._gathered.append(step)

    def _hand_on(self) -> None:
        steps, self._gathered = self._gathered, []
        for runner in self._runners():
            for step in steps:
                runner.feed(step)

    def metrics(self, name: str) -> Any:
        """What the declared metrics function of a subsystem made."""
        return self._hosted[name].metrics

    def settings(self, name: str) -> Any:
        """Those of a subsystem, checked; None where it cannot be used."""
        hosted = self._hosted.get(name)
        return None if hosted is None else hosted.settings

    def shared(self, name: str) -> Any:
        """What the declared `shared` function of a subsystem made, for routes; None where it does not run."""
        hosted = self._hosted.get(name)
        return None if hosted is None else hosted.shared

    def tables(self, name: str) -> SubsystemTables | None:
        """Those of a subsystem, for its routes; None where it has none, or does not run."""
        hosted = self._hosted.get(name)
        return None if hosted is None else hosted.tables

    def routers(self) -> Iterator[tuple[str, Any]]:
        """The routers that subsystems declare, by name. One that cannot be loaded makes its subsystem unusable."""
        for name, hosted in self._hosted.items():
            if hosted.declaration.routes:
                try:
                    yield name, load_object(hosted.declaration.routes)
                except PluginError as error:
                    self._is_unusable(name, error)

    def health(self) -> list[SubsystemHealth]:
        found = {runner.name: runner.health() for runner in self._runners()}
        for name, problem in self._unusable.items():
            known = found.get(name) or SubsystemHealth(name, RunState.STOPPED, problem, 1, 0, 0, 0)
            found[name] = replace(known, problem=problem)
        return list(found.values())

    @property
    def trouble(self) -> str:
        """What is wrong with subsystems now, in one line; empty when all is well."""
        return "; ".join(f"subsystem {one.name}: {one.problem}" for one in self.health() if one.problem)

    def collect(self) -> Iterator[Metric]:
        labels = ["subsystem"]
        up = GaugeMetricFamily("dovetail_subsystem_up", "Whether a subsystem runs: 1 or 0", labels=labels)
        queued = GaugeMetricFamily("dovetail_subsystem_queued_steps", "Steps not taken yet", labels=labels)
        failures = CounterMetricFamily("dovetail_subsystem_failures", "Errors and hangs of a subsystem", labels=labels)
        hangs = CounterMetricFamily("dovetail_subsystem_hangs", "Hangs of a subsystem", labels=labels)
        dropped = CounterMetricFamily("dovetail_subsystem_dropped_steps", "Steps lost to a full queue", labels=labels)
        for one in self.health():
            up.add_metric([one.name], float(one.state is RunState.RUNNING))
            counts = ((queued, one.queued), (failures, one.failures), (hangs, one.hangs), (dropped, one.dropped))
            for family, count in counts:
                family.add_metric([one.name], count)
        yield from (up, queued, failures, hangs, dropped)
        for name, hosted in self._hosted.items():
            try:
                yield from list(hosted.registry.collect())
            except Exception as error:  # a collector of others may raise anything; the page shows the rest
                log.warning("metrics of a subsystem failed", subsystem=name, error=f"{type(error).__name__}: {error}")

    def _runners(self) -> Iterator[SubsystemRunner]:
        return (hosted.runner for hosted in self._hosted.values() if hosted.runner is not None)


class _Hosted:
    """A subsystem that is declared and whose settings make sense."""

    def __init__(self, declaration: SubsystemDeclaration, given: Mapping[str, Any], folder: Path) -> None:
        self.declaration = declaration
        self.registry = CollectorRegistry()
        self.settings = checked_settings(declaration, given)
        self.metrics = load_object(declaration.metrics)(self.registry) if declaration.metrics else None
        self.tables: SubsystemTables | None = None
        if declaration.migrations is not None:
            self.tables = SubsystemTables(declaration.name, folder / "tables.db", declaration.migrations)
        self.shared = load_object(declaration.shared)(self.tables) if declaration.shared else None
        self.runner: SubsystemRunner | None = None
        self._folder = folder

    def builder(self, control: ControlAccess) -> Callable[[], Subsystem]:
        name, tables = self.declaration.name, self.tables
        context = SubsystemContext(name, self.settings, self.metrics, self._folder, tables, control, self.shared)

        def build() -> Subsystem:
            if tables is not None and not self.declaration.opens_later:
                tables.open()
            built = load_object(self.declaration.build)(context)
            if not isinstance(built, Subsystem):
                raise PluginError(f"{self.declaration.build} is not derived from Subsystem")
            return built

        return build
