"""An engine with a ledger beside it: what it decides, and the totals of the day.

Times of the ledger count from the beginning of the day, those of the engine are seconds since the epoch.
"""

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.engine.settings import EngineSettings
from dovetail.model.batch import Changes
from dovetail.model.command import Command
from dovetail.model.event import Event, RetryAsked, Submitted
from dovetail.model.record import Decision, Snapshot
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.ledger import SimulationLedger
from dovetail.simulate.measuring import SimulationGauges
from dovetail.simulate.outcome import SimulationOutcome, outcome_of


class ObservedEngine:
    def __init__(self, settings: EngineSettings, snapshot: Snapshot, specs: dict[int, Workload], origin: float) -> None:
        """`specs`: of the unfinished workloads in the snapshot."""
        self._settings, self._origin = settings, origin
        self.ledger = SimulationLedger()
        self.specs = dict(specs)
        self.decisions: list[Decision] = []
        self._ended_before: set[int] = set()  # lives again; the ledger has closed its account
        self._restore(snapshot)
        for workload in snapshot.workloads:
            self.ledger.restored(workload, self.specs[workload.id], origin)
        self._measure_capacity(origin)

    def _restore(self, snapshot: Snapshot) -> None:
        self.engine = Engine(self._settings)
        self.questions = Questions(self.engine)
        self._gauges = SimulationGauges(self.questions)  # after a restart it begins again: its mean is of the last part
        self.engine.restore(snapshot)

    def restart(self, snapshot: Snapshot) -> None:
        """The server was started again."""
        self._restore(snapshot)

    def handle(self, event: Event, now: float) -> list[Command]:
        if isinstance(event, Submitted):
            self.specs[event.workload] = event.spec
            self.ledger.submitted(event.workload, event.spec, now - self._origin)
        elif isinstance(event, RetryAsked) and event.finished is not None:
            self._ended_before.add(event.workload)
        return self.engine.handle(event, now)

    def settle(self, now: float) -> Changes:
        """The changes of a turn, which count in the ledger from now on."""
        changes = self.engine.take_changes(now)
        if changes.nodes or changes.nodes_gone:
            self._measure_capacity(now)
        if changes:
            self.decisions += changes.decisions
            counted = _without(changes, self._ended_before) if self._ended_before else changes
            self.ledger.take(counted, now - self._origin)
            self._gauges.look(counted, self.specs, now - self._origin)
        return changes

    def close(self, now: float) -> SimulationOutcome:
        ran = self.ledger.active
        self.ledger.close(now - self._origin)
        measured = self._gauges.close(now - self._origin)
        return outcome_of(self.ledger, now - self._origin, ran, "", measured)

    def _measure_capacity(self, now: float) -> None:
        capacity = {resource: most for resource, (_, most) in self.questions.gauges.totals().items()}
        self.ledger.capacity(capacity, now - self._origin)


def _without(changes: Changes, workloads: set[int]) -> Changes:
    return Changes(
        decisions=[one for one in changes.decisions if one.task.workload not in workloads],
        tasks=[one for one in changes.tasks if one.task.workload not in workloads],
        workloads=[one for one in changes.workloads if one.id not in workloads],
        preempted=changes.preempted,
    )
