"""A discrete-event simulation: it jumps from one event to the next.

Engine and admission are those of production. At each moment the engine takes all events (arrivals, incidents, reports
of the simulated world) and decides until it is idle; its commands are executed on the simulated world.

It begins on an empty cluster, or where a snapshot was taken (`start`): then the engine goes on with the times of the
snapshot, and everything else counts from 0.

Guarantees: the same settings, cluster, arrivals, incidents and seed give the same commands at the same moments, to the
bit; `SimulationOutcome.digest` is their fingerprint. No wall clock, no waiting, no I/O. Left to others: recording
what happened (`ledger`), what is measured on the way (`measuring`).
"""

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import count

from pydantic import ValidationError

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.simulated.fleet import fleet
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.backends.simulated.world import World
from dovetail.engine.admission.admission import Admission, AdmissionConflict, CircularWait, in_order
from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command, Stop, attempt_key
from dovetail.model.event import (
    BindFailed,
    Event,
    NodeHealthChanged,
    NodeJoined,
    PolicySet,
    Submitted,
    TaskBound,
    Tick,
    TopologySet,
)
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.plugin_loading import PluginError
from dovetail.model.policy import Policy
from dovetail.model.record import Snapshot
from dovetail.model.task import TaskState
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import UnknownProfile
from dovetail.queueing.orderings import OrderingError
from dovetail.queueing.tree import BadQueues
from dovetail.simulate.ledger import RefusedWorkload, SimulationLedger
from dovetail.simulate.measuring import SimulationGauges
from dovetail.simulate.outcome import SimulationOutcome, outcome_of
from dovetail.simulate.scenario import BACKEND, Incident, Scenario

DECISIONS_A_TICK = 4096
MOMENTS_BETWEEN_REPORTS = 256
ALL = 2**62  # reports of the world

Watch = Callable[[float, Event, list[Command]], None]
Progress = Callable[[float, SimulationLedger], None]


class Unplayable(ValueError):
    """The engine cannot run with these settings: an unknown profile or plugin. Says which."""


@dataclass(frozen=True, slots=True)
class Start:
    """Where a simulation goes on: records of a restart, the definitions of its workloads with their run times, when
    that was, and what happens first (topology measured, nodes added and removed)."""

    records: Snapshot
    specs: Mapping[int, Workload]
    at: float
    events: Sequence[Event] = ()


class Simulation:
    def __init__(
        self,
        settings: EngineSettings,
        world: SimulatedSettings,
        arrivals: Iterable[tuple[float, Workload]],
        seed: int | None = None,
        *,
        nodes: Sequence[Node] | None = None,
        incidents: Sequence[Incident] = (),
        horizon_s: float | None = None,
        watch: Watch | None = None,
        policies: Sequence[Policy] = (),
        topology: Topology | None = None,
        start: Start | None = None,
        measured: bool = False,
    ) -> None:
        """`nodes` are those the world describes unless given; `watch` is shown every event and its commands. `start`:
        where it goes on from; `nodes` are then those that the world knows. `measured`: fragmentation and traffic times
        are looked at on the way, which takes longer.

        Raises Unplayable when the settings' profiles cannot be built.
        """
        if seed is not None:
            settings, world = settings.model_copy(update={"seed": seed}), world.model_copy(update={"seed": seed})
        self.engine = engine_of(settings)
        self.ledger = SimulationLedger()
        self.now = 0.0
        self._questions, self._admission = Questions(self.engine), Admission(self.engine)
        self._nodes = list(fleet(world, BACKEND) if nodes is None else nodes)
        later = [incident.join for incident in incidents if incident.join is not None]
        self._world = World(world, [*self._nodes, *later], now=0.0)
        self._arrivals: Iterator[tuple[float, Workload]] = iter(arrivals)
        self._next_arrival = next(self._arrivals, None)
        self._agenda: list[tuple[float, int, Event | Incident]] = []
        self._planned = count()
        self._incidents_left = len(incidents)
        self._scripted_down: set[str] = set()
        self._specs: dict[int, Workload] = {}
        self._next_id = 1
        self._horizon_s = math.inf if horizon_s is None else horizon_s
        self._watch = watch
        self._policies = policies
        self._topology = topology
        self._digest = blake2b(digest_size=16)
        self._origin = 0.0  # the engine's time is so much later than that of the simulation
        self._start = start
        self._gauges = SimulationGauges(self._questions) if measured else None
        if start is not None:
            self._go_on_from(start)
        for incident in incidents:
            self._plan(incident.at, incident)

    @staticmethod
    def of(
        scenario: Scenario,
        seed: int | None = None,
        profile: str | None = None,
        *,
        arrivals: Iterable[tuple[float, Workload]] | None = None,
        measured: bool = False,
    ) -> "Simulation":
        """The scenario of a file, with another seed, default profile or work if given."""
        chosen = scenario.seed if seed is None else seed
        update = {} if profile is None else {"default_profile": profile}
        return Simulation(
            scenario.settings.model_copy(update=update),
            scenario.cluster,
            scenario.arrivals(chosen) if arrivals is None else arrivals,
            chosen,
            nodes=scenario.cluster.fleet(),
            incidents=scenario.events,
            horizon_s=scenario.horizon,
            policies=scenario.policies,
            topology=scenario.cluster.topology,
            measured=measured,
        )

    def run(self, progress: Progress | None = None) -> SimulationOutcome:
        """Run until all work is finished, no event is left, or the horizon is reached."""
        if self._start is None:
            self._set_up()
        for moment in count(1):
            at = self._next_moment()
            if at > self._horizon_s or math.isinf(at):
                break
            self.now = at
            self._play()
            if progress is not None and moment % MOMENTS_BETWEEN_REPORTS == 0:
                progress(self.now, self.ledger)
        if self.ledger.live and math.isfinite(self._horizon_s):
            self.now = self._horizon_s
        ran = self.ledger.active
        self.ledger.close(self.now)
        gauges = None if self._gauges is None else self._gauges.close(self.now)
        return outcome_of(self.ledger, self.now, ran, self._digest.hexdigest(), gauges)

    def _set_up(self) -> None:
        if self._topology is not None:
            self._hear(TopologySet(self._topology))
        for policy in self._policies:
            self._hear(PolicySet(policy, 1))
        for node in self._nodes:
            self._hear(NodeJoined(node))
        self._settle()

    def _go_on_from(self, start: Start) -> None:
        """The engine as after a restart; the world takes over what runs."""
        self._origin = start.at
        self.engine.restore(start.records)
        self._admission.recount()
        self._specs = dict(start.specs)
        self._next_id = start.records.next_workload
        for restored in start.records.workloads:
            spec = self._specs[restored.id]
            self.ledger.restored(restored, spec, start.at)
            for task in restored.tasks:
                if task.state.holds_node and task.node is not None:
                    key = attempt_key(task.task, task.attempt)
                    began = None if task.started_at is None else task.started_at - start.at
                    self._world.adopt(Assignment(key, task.task, task.node, spec, task.devices), began, 0.0)
                    if task.state is TaskState.STOPPING:
                        self._world.stop(key, task.reason, 0.0)
        for event in start.events:
            self._hear(event)
        self._settle(joined=True)
        self._plan(0.0, Tick(DECISIONS_A_TICK))  # timers that were set before may be due

    # --- one moment ------------------------------------------------------------------------------------------

    def _next_moment(self) -> float:
        found = self._world.next_due()
        if self._next_arrival is None and not self._incidents_left:
            if not self.ledger.live:
                return math.inf
            if self._start is not None and math.isinf(found) and not self.ledger.waiting and not self._agenda_matters():
                return math.inf  # what is left runs for ever
        if self._agenda:
            found = min(found, self._agenda[0][0])
        if self._next_arrival is not None:
            found = min(found, self._next_arrival[0])
        return max(found, self.now)

    def _agenda_matters(self) -> bool:
        return any(at <= self.now or not isinstance(happening, Tick) for at, _, happening in self._agenda)

    def _play(self) -> None:
        now = self.now
        while self._agenda and self._agenda[0][0] <= now:
            happening = heapq.heappop(self._agenda)[2]
            if isinstance(happening, Incident):
                self._strike(happening)
            else:
                self._hear(happening)
        for event in self._world.advance(now, ALL):
            if not isinstance(event, NodeHealthChanged) or event.name not in self._scripted_down:
                self._hear(event)
        if self._next_arrival is not None and self._next_arrival[0] <= now:
            self._submit_all(self._arriving(now))
        while self.engine.busy:
            self._hear(Tick(DECISIONS_A_TICK))
        self._settle()

    def _settle(self, joined: bool = False) -> None:
        """Record what changed at this moment. `joined`: nodes did, whatever the engine says."""
        changes = self.engine.take_changes(self._origin + self.now)
        if changes.nodes or changes.nodes_gone or joined:
            capacity = {resource: most for resource, (_, most) in self._questions.gauges.totals().items()}
            self.ledger.capacity(capacity, self.now)
        if changes:
            self._admission.counts.update(changes.workloads)
            self.ledger.take(changes, self.now)
            if self._gauges is not None:
                self._gauges.look(changes, self._specs, self.now)
            for record in changes.workloads:
                if record.state.finished:
                    del self._specs[record.id]

    def _arriving(self, now: float) -> list[Workload]:
        """All workloads that arrive by now."""
        found = []
        while self._next_arrival is not None and self._next_arrival[0] <= now:
            at, spec = self._next_arrival
            found.append(spec)
            following = next(self._arrivals, None)
            if following is not None and following[0] < at:
                raise ValueError(f"arrivals are not in order: {following[0]} s after {at} s")
            self._next_arrival = following
        return found

    def _submit_all(self, specs: list[Workload]) -> None:
        """Workloads of one moment may depend on each other in any order, as in one submission."""
        while specs:
            try:
                order = in_order(specs)
            except CircularWait as error:
                circle = next(spec for spec in specs if spec.name == error.first)
                self._turn_away(circle, "dependency", str(error))
                specs = [spec for spec in specs if spec is not circle]
            else:
                for index in order:
                    self._submit(specs[index])
                return

    def _submit(self, spec: Workload) -> None:
        """By the same admission as in production."""
        objections = self._admission.objections(spec)
        if objections:
            reason, complaint = objections[0]
            self._turn_away(spec, reason, f"{complaint.field}: {complaint.message}")
            return
        id_ = self._next_id
        try:
            admitted = self._admission.admit([spec], id_, {}, self._origin + self.now)
        except AdmissionConflict as conflict:
            self._turn_away(spec, "conflict", str(conflict))
            return
        except Invalid as invalid:
            self._turn_away(spec, "dependency", "; ".join(one.message for one in invalid.complaints))
            return
        self._hear(Submitted(id_, spec, admitted.after[0]))
        self._admission.counts.joined(id_)
        self._next_id += 1
        self._specs[id_] = spec
        self.ledger.submitted(id_, spec, self.now)

    def _turn_away(self, spec: Workload, reason: str, message: str) -> None:
        self.ledger.turned_away.append(RefusedWorkload(spec.namespace, spec.name, self.now, reason, message))

    def _strike(self, incident: Incident) -> None:
        self._incidents_left -= 1
        if incident.kind == "fail":
            self._scripted_down.add(incident.node)
        elif incident.kind in ("repair", "join", "leave"):
            self._scripted_down.discard(incident.node)
        self._hear(incident.event())
        if incident.kind == "fail":
            for held in self._questions.workloads.held_on(incident.node):
                self._world.lose(held.key, f"its node {incident.node} failed", self.now)

    # --- events in, commands out -----------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        commands = self.engine.handle(event, self._origin + self.now)
        if self._watch is not None:
            self._watch(self.now, event, commands)
        for command in commands:
            self._carry_out(command)

    def _carry_out(self, command: Command) -> None:
        if isinstance(command, Bind):
            self._digest.update(f"{self.now!r} bind {command.key} {command.node}\n".encode())
            self._bind(command)
        elif isinstance(command, Stop):
            self._digest.update(f"{self.now!r} stop {command.key} {command.node}\n".encode())
            self._world.stop(command.key, command.reason, self.now)
        else:
            self._plan(command.at - self._origin, Tick(DECISIONS_A_TICK))

    def _bind(self, command: Bind) -> None:
        assignment = Assignment(
            command.key, command.task, command.node, self._specs[command.task.workload], command.devices
        )
        try:
            accepted_at = self._world.bind(assignment, self.now)
        except Refusal as refusal:
            self._plan(self.now, BindFailed(command.task, command.key, str(refusal), refusal.cause))
        else:
            self._plan(accepted_at, TaskBound(command.task, command.key))

    def _plan(self, at: float, happening: Event | Incident) -> None:
        heapq.heappush(self._agenda, (at, next(self._planned), happening))


def engine_of(settings: EngineSettings) -> Engine:
    profiles = settings.all_profiles()
    if settings.default_profile not in profiles:
        raise Unplayable(str(UnknownProfile(settings.default_profile, list(profiles))))
    try:
        return Engine(settings)
    except (PluginError, OrderingError, ValidationError) as error:
        raise Unplayable(f"the profiles of these settings cannot be built: {error}") from error
    except BadQueues as error:
        raise Unplayable(f"the queues of these settings make no tree: {error}") from error
