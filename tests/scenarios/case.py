"""What a scenario of these tests is: a cluster, what is there already, what is submitted, and what must come of it."""

from dataclasses import dataclass, field

from dovetail.engine.engine import Engine
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command
from dovetail.model.event import (
    BackendHealthChanged,
    Event,
    NodeCordoned,
    NodeHealthChanged,
    NodeJoined,
    Submitted,
    Tick,
)
from dovetail.model.reason import Explanation, NodePoints
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Name, Strict
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.scenario import Arrival, ClusterFile, Incident, Scenario

NOW = 1000.0


class Expected(Strict):
    """Every part that is given must hold; nodes are listed by replica."""

    placed: dict[Name, list[Name]] = {}
    counts: dict[Name, dict[Name, int]] = {}
    order: list[Name] = []
    waiting: dict[Name, str] = {}
    because: dict[Name, str] = {}
    loads: dict[Name, dict[Name, float]] = {}
    scores: dict[Name, dict[Name, float]] = {}
    funnel: dict[Name, dict[str, int]] = {}  # nodes left by each filter that refused some
    states: dict[Name, str] = {}
    waits_s: dict[Name, float] = {}


class Case(Strict):
    story: str
    cluster: ClusterFile
    settings: EngineSettings = EngineSettings()
    offline: list[Name] = []
    cordoned: list[Name] = []
    backends_down: list[Name] = []
    before: list[Workload] = []  # placed before anything else, one after the other
    workloads: list[Arrival]
    events: list[Incident] = []
    horizon: Duration | None = None
    expect: Expected

    @property
    def is_played(self) -> bool:
        """Expectations about how it ends need the simulation; the others one moment of the engine."""
        return bool(self.expect.states or self.expect.waits_s)

    def scenario(self) -> Scenario:
        return Scenario(
            cluster=self.cluster,
            workloads=self.workloads,
            events=self.events,
            settings=self.settings,
            horizon=self.horizon,
        )


@dataclass
class Decided:
    """What the engine said about each workload."""

    placed: dict[str, list[str]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    waiting: dict[str, tuple[str, str]] = field(default_factory=dict)
    best: dict[str, dict[str, NodePoints]] = field(default_factory=dict)
    funnel: dict[str, dict[str, int]] = field(default_factory=dict)


def decide(case: Case) -> Decided:
    """All workloads of the case submitted at one moment, then decided."""
    engine, found = Engine(case.settings), Decided()
    events: list[Event] = [NodeJoined(node) for node in case.cluster.fleet()]
    events += [NodeHealthChanged(name, False, "silent") for name in case.offline]
    events += [NodeCordoned(name, True, "maintenance") for name in case.cordoned]
    events += [BackendHealthChanged(name, False, "no answer") for name in case.backends_down]
    for event in events:
        engine.handle(event, NOW)
    specs: dict[int, Workload] = {}
    for spec in case.before:
        specs[len(specs) + 1] = spec
        engine.handle(Submitted(len(specs), spec), NOW)
        assert [c for c in _ticks(engine) if isinstance(c, Bind)], f"{spec.name} of `before` finds no place"
    engine.take_changes(NOW)
    for spec in case.workloads:
        specs[len(specs) + 1] = spec
        engine.handle(Submitted(len(specs), spec), NOW)
    for command in _ticks(engine):
        if isinstance(command, Bind):
            name = specs[command.task.workload].name
            found.order += [name] if name not in found.order else []
            found.placed.setdefault(name, []).append(command.node)
    for decision in engine.take_changes(NOW).decisions:
        name, explanation = specs[decision.task.workload].name, decision.explanation
        found.funnel.setdefault(name, _narrowing(explanation))
        found.best.setdefault(name, {line.node: line for line in explanation.best})
        if decision.node is None:
            found.waiting[name] = (str(explanation.outcome), explanation.message)
    return found


def _narrowing(explanation: Explanation) -> dict[str, int]:
    found = {"nodes": explanation.nodes}
    for step in explanation.funnel:
        if step.remaining != [*found.values()][-1]:
            found[step.filter] = step.remaining
    return found


def _ticks(engine: Engine) -> list[Command]:
    commands: list[Command] = []
    while engine.busy:
        commands += engine.handle(Tick(100), NOW)
    return commands
