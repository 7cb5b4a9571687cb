"""Hands each step to everything in the control plane that follows the steps, once the step is durable.

Guarantees: all follow the same steps in the same order. Nothing here waits: the loop goes on when `take` returns.
"""

import time

import structlog

from dovetail.control.loop.store_access import DefinitionCache
from dovetail.control.services.discovery import DiscoveryService
from dovetail.control.services.recording import RecordingService
from dovetail.control.subsystems.contract import DurableStep
from dovetail.control.subsystems.host import SubsystemHost
from dovetail.control.telemetry.logs import DecisionLog
from dovetail.control.telemetry.metrics import Metrics
from dovetail.control.telemetry.recent_decisions import DecidedName, DecisionRing
from dovetail.control.tracing.board import TraceBoard
from dovetail.engine.questions.workload_questions import WorkloadQuestions
from dovetail.model.batch import Batch
from dovetail.model.task import WorkloadState
from dovetail.model.workloads.workload import Workload

log = structlog.get_logger()


class StepDelivery:
    """`traces`, `decision_log`: None where nothing is traced, or no decisions are logged."""

    def __init__(
        self,
        live: WorkloadQuestions,
        definitions: DefinitionCache,
        recent: DecisionRing,
        metrics: Metrics,
        decision_log: DecisionLog | None,
        recording: RecordingService,
        discovery: DiscoveryService,
        traces: TraceBoard | None,
        subsystems: SubsystemHost,
    ) -> None:
        self._live, self._definitions, self._recent, self._metrics = live, definitions, recent, metrics
        self._decision_log, self._recording, self._discovery = decision_log, recording, discovery
        self._traces, self._subsystems = traces, subsystems

    def take(self, batch: Batch, specs: list[tuple[int, Workload]]) -> None:
        for id_, spec in specs:
            self._definitions.keep(id_, spec)
        names = {id_: spec.name for id_, spec in specs}
        self._recent.take(batch.changes.decisions, self._name_of)
        for decision in batch.changes.decisions:
            live = self._live.get(decision.task.workload)
            if live is not None:
                names[decision.task.workload] = live.name
                if decision.node is not None:
                    self._metrics.queue_wait_s.labels(live.queue).observe(decision.at - live.submitted_at)
        if self._decision_log is not None:
            self._decision_log.write(batch, names)
        for switch in batch.changes.switches:
            log.info(switch.message, policy=switch.policy, adjusted=switch.on)
        self._recording.take(batch)
        self._discovery.take(batch.changes)
        if self._traces is not None:
            self._traces.note(batch.submitted)
        self._subsystems.feed(DurableStep(batch, names, time.time()))
        for record in batch.changes.workloads:
            single = record.state is WorkloadState.RUNNING and record.active == 1 and not record.pending
            if single or record.state.finished:
                self._definitions.forget(record.id)

    def _name_of(self, workload: int) -> DecidedName | None:
        live = self._live.get(workload)
        return None if live is None else DecidedName(live.namespace, live.name)
