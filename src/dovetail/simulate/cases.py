"""One run of a comparison: what is played, by which profile, from which seed, and what is different.

`run_case` is the one way to play a snapshot, a scenario or a batch log: the commands, sweeps over many seeds and
programs of others use it. A case can be pickled and sent to another process or machine; its outcome is plain data.
Guarantees: equal cases give equal outcomes, to the bit. Files are read where the case runs, unless it carries their
content (`with_content`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypedDict

from dovetail.engine.settings import EngineSettings
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.placement.pipeline.profiles import ProfileSettings
from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.going_on import simulation_from, with_profile
from dovetail.simulate.outcome import SimulationOutcome
from dovetail.simulate.replay import Progress, Simulation
from dovetail.simulate.scenario import ClusterFile, read_scenario
from dovetail.simulate.swf import read_swf
from dovetail.simulate.work.arrival import NodeSizes, TimedWork, in_order
from dovetail.simulate.work.batch_jobs import of_log
from dovetail.simulate.work.files import read_work
from dovetail.snapshots.document import SnapshotDocument
from dovetail.snapshots.file import is_snapshot, read_snapshot

SourceForm = Literal["snapshot", "scenario", "swf"]
DEFAULT_HORIZON_S = 7 * 86400.0
MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file by its path, with its content where it was read before."""

    path: str
    content: bytes | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """Raises Invalid."""
        if self.content is not None:
            return self.content
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            words = f"cannot be read: {error.strerror or error}"
            raise Invalid([Complaint(self.path, None, "", words)]) from None


@dataclass(frozen=True, slots=True)
class SimulationCase:
    """`source`: a snapshot, a scenario or a batch log, told apart by content unless `form` says. `profile`: a name, or
    settings of one; None: that of the source. `changes`: as JSON (`ClusterChanges`). `label`: for tables."""

    source: CaseFile
    form: SourceForm | None = None
    profile: str | dict[str, Any] | None = None
    seed: int = 0
    changes: dict[str, Any] = field(default_factory=dict)
    work: tuple[CaseFile, ...] = ()
    horizon_s: float | None = None
    label: str = ""

    def with_content(self) -> "SimulationCase":
        """The same case, which needs no files where it runs. Raises Invalid."""
        source = CaseFile(self.source.path, self.source.read())
        return replace(self, source=source, work=tuple(CaseFile(one.path, one.read()) for one in self.work))

    @property
    def name(self) -> str:
        return self.label or (self.profile if isinstance(self.profile, str) else "as it is")


class Figures(TypedDict):
    """What runs are compared by. None: nothing to measure it on."""

    mean_wait_s: float | None
    median_wait_s: float | None
    p95_wait_s: float | None
    max_wait_s: float | None
    mean_slowdown: float | None
    p95_slowdown: float | None
    cpu_utilisation: float | None
    gpu_utilisation: float | None
    fragmentation: float | None
    traffic_s: float | None
    traffic_times_best: float | None
    fairness: float | None
    preemptions: int
    ended: int
    failed: int
    unplaced: int
    makespan_s: float


class CaseOutcome(TypedDict):
    """Plain data: `outcome` is `SimulationOutcome.to_dict`."""

    label: str
    profile: str
    seed: int
    digest: str
    figures: Figures
    outcome: dict[str, Any]


def run_case(case: SimulationCase, progress: Progress | None = None, *, every_workload: bool = False) -> CaseOutcome:
    """Raises Invalid for a file that cannot be read, Unplayable for a profile or change that makes no sense."""
    simulation, profile = simulation_of(case)
    return outcome_of_case(case, profile, simulation.run(progress), every_workload=every_workload)


def outcome_of_case(
    case: SimulationCase, profile: str, found: SimulationOutcome, *, every_workload: bool = False
) -> CaseOutcome:
    return {
        "label": case.name if case.label else profile,
        "profile": profile,
        "seed": case.seed,
        "digest": found.digest,
        "figures": figures_of(found),
        "outcome": found.to_dict(every_workload=every_workload),
    }


def simulation_of(case: SimulationCase) -> tuple[Simulation, str]:
    """The simulation of a case, and the name of its default profile."""
    data = case.source.read()
    form = case.form or form_of(data)
    changes = ClusterChanges.model_validate(case.changes)
    if case.profile is not None:
        chosen = case.profile if isinstance(case.profile, str) else ProfileSettings.model_validate(case.profile)
        changes = changes.model_copy(update={"profile": chosen})
    return _FORMS[form](case, data, changes)


def form_of(data: bytes) -> SourceForm:
    if is_snapshot(data):
        return "snapshot"
    first = next((line for line in data[:65536].splitlines() if line.strip()), b"")
    return "swf" if first.startswith((b";", b"\x1f\x8b")) or len(first.split()) == 18 else "scenario"


def figures_of(found: SimulationOutcome) -> Figures:
    def mean(resource: str) -> float | None:
        use = found.utilisation.get(resource)
        return None if use is None else round(use.mean, 6)

    ended = sum(found.states.get(state, 0) for state in ("succeeded", "failed", "cancelled"))
    return {
        "mean_wait_s": found.waits.mean_s,
        "median_wait_s": found.waits.median_s,
        "p95_wait_s": found.waits.p95_s,
        "max_wait_s": found.waits.max_s,
        "mean_slowdown": found.slowdowns.mean,
        "p95_slowdown": found.slowdowns.p95,
        "cpu_utilisation": mean("cpu"),
        "gpu_utilisation": mean("gpu"),
        "fragmentation": None if found.fragmentation is None else found.fragmentation.mean,
        "traffic_s": None if found.traffic is None else found.traffic.all_reduce_s,
        "traffic_times_best": None if found.traffic is None else found.traffic.times_best,
        "fairness": found.fairness,
        "preemptions": found.preemptions,
        "ended": ended,
        "failed": found.states.get("failed", 0),
        "unplaced": sum(found.unplaced_by_reason.values()),
        "makespan_s": found.makespan_s,
    }


# --- by form of the source -----------------------------------------------------------------------------------------


def _of_snapshot(case: SimulationCase, data: bytes, changes: ClusterChanges) -> tuple[Simulation, str]:
    return simulation_of_snapshot(read_snapshot(data, case.source.path), case, changes)


def simulation_of_snapshot(
    document: SnapshotDocument, case: SimulationCase, changes: ClusterChanges
) -> tuple[Simulation, str]:
    """The same for a snapshot that was read before."""
    arrivals = _more_work(case, sizes_of([one.node for one in document.nodes]))
    horizon_s = DEFAULT_HORIZON_S if case.horizon_s is None else case.horizon_s
    simulation = simulation_from(document, changes, case.seed, arrivals=arrivals, horizon_s=horizon_s)
    return simulation, with_profile(document.settings, changes).default_profile


def _of_scenario(case: SimulationCase, data: bytes, changes: ClusterChanges) -> tuple[Simulation, str]:
    scenario = read_scenario(data, case.source.path, case.horizon_s)
    _only_a_profile(case, changes)
    settings = with_profile(scenario.settings, changes)
    chosen = scenario.model_copy(update={"settings": settings})
    more = _more_work(case, sizes_of(scenario.cluster.fleet()))
    arrivals = in_order([*scenario.arrivals(case.seed), *more], from_zero=False) if more else None
    return Simulation.of(chosen, case.seed, arrivals=arrivals, measured=True), settings.default_profile


def _of_log(case: SimulationCase, data: bytes, changes: ClusterChanges) -> tuple[Simulation, str]:
    """On one machine with as many processors as the log says."""
    log = read_swf(data, case.source.path)
    _only_a_profile(case, changes)
    node = Node(name=MACHINE, capacity=Capacity(cpu=float(log.processors), slots=log.processors))
    work = in_order([*of_log(log, sizes_of([node])), *_more_work(case, sizes_of([node]))], from_zero=False)
    settings = with_profile(EngineSettings(seed=case.seed), changes)
    cluster = ClusterFile(nodes=[node])
    simulation = Simulation(settings, cluster, work, case.seed, nodes=[node], horizon_s=case.horizon_s, measured=True)
    return simulation, settings.default_profile


def _only_a_profile(case: SimulationCase, changes: ClusterChanges) -> None:
    if not changes.model_copy(update={"profile": None}).empty:
        words = "nodes, failures and cancelled work can be changed in a snapshot; write them into the scenario instead"
        raise Invalid([Complaint(case.source.path, None, "", words)])


def _more_work(case: SimulationCase, sizes: NodeSizes) -> list[TimedWork]:
    found = [arrival for one in case.work for arrival in read_work(one.read(), one.path, sizes)]
    return in_order(found, from_zero=False)


def sizes_of(nodes: list[Node]) -> NodeSizes:
    return NodeSizes(
        cpu=max((node.capacity.cpu for node in nodes), default=0.0),
        gpus=max((node.capacity.gpu for node in nodes), default=0),
    )


_Maker = Callable[[SimulationCase, bytes, ClusterChanges], tuple[Simulation, str]]
_FORMS: dict[SourceForm, _Maker] = {"snapshot": _of_snapshot, "scenario": _of_scenario, "swf": _of_log}
