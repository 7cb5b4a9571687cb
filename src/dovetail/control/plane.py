"""The control plane: puts loop, backends, services and subsystems together, and starts and stops them in order.

Start: open the store, restore the engine, start the backends, send unconfirmed commands again, adopt confirmed
ones; only then does the loop decide. A method that changes something returns when the change is durable.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.constraints.syntax import parser
from dovetail.control.attention.service import AttentionService, AttentionSources
from dovetail.control.backends.announcements import Announcements
from dovetail.control.backends.roster import Backends
from dovetail.control.cost.book import CostBook, CostSource
from dovetail.control.cost.desk import CostDesk
from dovetail.control.errors import StoreError, Unavailable
from dovetail.control.loop.garbage import PythonCollector
from dovetail.control.loop.history_feed import HistoryFeed
from dovetail.control.loop.inbox import InboxEvents
from dovetail.control.loop.loop import ControlLoop
from dovetail.control.loop.store_access import DefinitionCache, node_of_attempt, on_store_thread
from dovetail.control.service_controller.book import ServiceBook
from dovetail.control.service_controller.desk import ServiceDesk
from dovetail.control.services.access import AccessService
from dovetail.control.services.admin_token import AdminToken
from dovetail.control.services.backends import BackendService
from dovetail.control.services.discovery import DiscoveryService
from dovetail.control.services.live_copy import LiveCopy
from dovetail.control.services.machines import MachineService
from dovetail.control.services.metal import MetalService
from dovetail.control.services.network import NetworkService
from dovetail.control.services.node_credentials import MachineCredentials
from dovetail.control.services.nodes import NodeService
from dovetail.control.services.own_machine import LOCAL
from dovetail.control.services.policies import PolicyService
from dovetail.control.services.questions import QuestionDesk
from dovetail.control.services.recording import RecordingService
from dovetail.control.services.reservations import ReservationService
from dovetail.control.services.retention import RetentionService
from dovetail.control.services.service_affinity import ServiceAffinityService
from dovetail.control.services.task_commands import TaskCommands
from dovetail.control.services.task_output import TaskOutput
from dovetail.control.services.task_use import TaskUseService
from dovetail.control.services.traffic import TrafficService
from dovetail.control.services.virtual_machines import VmService
from dovetail.control.services.workload_changes import WorkloadChanges
from dovetail.control.services.workload_names import WorkloadNames
from dovetail.control.services.workloads import WorkloadService
from dovetail.control.settings import REGISTERED, Settings
from dovetail.control.settings.topology_file import read_topology_file
from dovetail.control.step_delivery import StepDelivery
from dovetail.control.subsystems.contract import ControlAccess
from dovetail.control.subsystems.host import SubsystemHost
from dovetail.control.subsystems.network.probe_board import ProbeBoard
from dovetail.control.subsystems.work_access import WorkOfSubsystems
from dovetail.control.telemetry.http_metrics import HttpMetrics
from dovetail.control.telemetry.logs import DecisionLog
from dovetail.control.telemetry.metrics import Metrics
from dovetail.control.telemetry.plane_gauges import PlaneFigures, PlaneGauges
from dovetail.control.telemetry.recent_decisions import DecisionRing
from dovetail.control.tracing.board import TraceBoard
from dovetail.control.trends.book import LoopCounts, TrendBook
from dovetail.engine.admission.admission import Admission
from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import BackendHealthChanged, Event, TopologySet
from dovetail.model.record import HistoryLine, Snapshot
from dovetail.placement.recovery import optimum as solver
from dovetail.store.contract import Store
from dovetail.store.sql import sqlite_store

T = TypeVar("T")
WATCH_S = 1.0
WARM_UP_AFTER_S = 5.0

log = structlog.get_logger()


class ControlPlane:
    def __init__(self, settings: Settings, garbage: PythonCollector | None = None) -> None:
        """`garbage`: for a process that is nothing but this control plane, a `ServerCollector`."""
        self.settings = settings
        self.started_at = 0.0
        self._tasks: list[asyncio.Future[None]] = []
        self._loop: ControlLoop | None = None
        # What decides, and what may be asked of it.
        self.engine = Engine(settings.scheduling)
        self.questions = questions = Questions(self.engine)
        self.ask = QuestionDesk(lambda: self.questions.version, settings.loop.slice / 2).ask
        self._admission = Admission(self.engine, settings.limits.max_tasks)
        self._garbage = garbage or PythonCollector()
        # What is written down.
        self.store: Store = sqlite_store(settings.database)
        self.history = HistoryFeed(self.store, self._running)
        self.recording = RecordingService(settings.recording, settings.scheduling, settings.folder, self.store)
        self._retention = RetentionService(settings.retention, self.store)
        self._specs = DefinitionCache(self.store)
        # Figures, and the subsystems with what they share with routes.
        self.metrics = Metrics(questions)
        self.metrics.follow(PlaneGauges(questions, self._figures).look)
        self.http_metrics = HttpMetrics(self.metrics.registry)
        self.recent = DecisionRing()
        self.subsystems = SubsystemHost(settings.subsystem_settings(), settings.folder / "subsystems")
        self.metrics.registry.register(self.subsystems)
        self.traces: TraceBoard | None = self.subsystems.shared("tracing")  # None: nothing is traced
        if self.traces is not None:
            self.traces.attach(self.subsystems.settings("tracing"))
        self.probe_board: ProbeBoard = self.subsystems.shared("network") or ProbeBoard()
        self.cost = CostDesk(self._cost_book())
        self.trends: TrendBook = self.subsystems.shared("trends")
        self.trends.attach(self._counts)
        # Who may ask; backends, nodes and machines.
        is_given = settings.access.token_file is not None
        self.access = AccessService(self.store, AdminToken(settings.token_file, is_given=is_given))
        credentials = MachineCredentials(self.access)
        self._announcements = Announcements(questions.nodes)
        heard, node_of = self._announcements.heard, partial(node_of_attempt, self.store)
        figures = self.subsystems.metrics("backend_health")
        self._backends = Backends(
            settings, questions, self._specs, self._put_item, heard, figures, node_of, credentials
        )
        self._backends.prepare = None if self.traces is None else self.traces.told
        self.backends = BackendService(self._backends, questions, self.store, settings, self._apply, self.history.ring)
        self.network = NetworkService(questions, self._apply)
        self.traffic = TrafficService(questions)
        agents_of, silence_s = self._backends.agents_of, settings.loop.heartbeat_timeout
        self.nodes = credentials.nodes = NodeService(
            questions.nodes, agents_of, silence_s, self._apply, self._put_events, self.traffic.take
        )
        self.machines = MachineService(self._backends.members, settings.loop.call_timeout)
        self.metal = MetalService(self._backends.members, questions.nodes)
        self.vms = VmService(questions, self._backends, self._apply)
        # Workloads, their tasks, and services.
        over_budget = self.cost.refuse_over_budget
        self.workloads = WorkloadService(
            self._admission, questions, self.store, settings.limits, self._running, self._apply, over_budget
        )
        self.submit, self.check = self.workloads.submit, self.workloads.check
        self.changes = WorkloadChanges(self.store, questions.workloads, questions.plans, self.ask, self._apply)
        self.commands = TaskCommands(questions.workloads, self._backends)
        self.task_use = TaskUseService(self._backends, self.traffic.take)
        self.output = TaskOutput(self.store, self._backends, settings.loop.call_timeout)
        self.services = ServiceDesk(self.subsystems.shared("services"), self.check, over_budget)
        self.discovery = DiscoveryService(self.subsystems.shared("services"), questions.network)
        self.names = WorkloadNames(self.store, questions, self.services.live_ids, self.services.names)
        # What users set beside work, and what concerns all of it.
        self.policies = PolicyService(questions.policies, self.store, self._apply)
        self.affinity = ServiceAffinityService(self.policies)
        self.reservations = ReservationService(questions, self._apply, self.nodes.must_exist)
        self.attention = AttentionService(questions, self._attention_sources())
        self._delivery = self._step_delivery()

    def _step_delivery(self) -> StepDelivery:
        logging = self.settings.logging
        logged = logging.decisions and logging.level in ("debug", "info")
        return StepDelivery(
            self.questions.workloads,
            self._specs,
            self.recent,
            self.metrics,
            DecisionLog(self.questions, logging.format == "json") if logged else None,
            self.recording,
            self.discovery,
            self.traces,
            self.subsystems,
        )

    def _figures(self) -> PlaneFigures:
        inbox = 0 if self._loop is None else len(self._loop.inbox)
        silent, agents = self.nodes.silent_and_all()
        return PlaneFigures(self.ready, inbox, self.workloads.waiting_in, silent, agents)

    def _cost_book(self) -> CostBook:
        book: CostBook = self.subsystems.shared("cost")
        source = CostSource(self.store.first_price, self.store.cost_facts, self._settled_at, self._note_budget)
        book.attach(source, self.subsystems.settings("cost"))
        return book

    def _attention_sources(self) -> AttentionSources:
        return AttentionSources(
            ask=self.ask,
            definitions=self._specs.many,
            members=lambda: list(self._backends.members.values()),
            subsystems=self.subsystems.health,
            budgets=self.cost.book.statuses,
            services=self.services.all,
            contradictions=lambda: self.probe_board.contradictions,
            trends=self.trends,
        )

    def _counts(self) -> LoopCounts:
        metrics = self.metrics
        return LoopCounts(metrics.decisions_total, metrics.failures_total, metrics.times.take_p99())

    # --- starting and stopping -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Raises StoreError when the database cannot be used, Invalid when the topology of the settings cannot."""
        described = read_topology_file(self.settings.topology)
        self._make_folder()
        self.access.admin.load()
        await on_store_thread(self.store.open)
        newest_record = await on_store_thread(self.store.newest_history_time)
        with self._garbage.paused():  # restoring makes hundreds of thousands of lasting objects
            snapshot = await self._restore()
        self._loop = ControlLoop(
            self.engine,
            self._admission,
            self.store,
            self.metrics,
            self.settings.loop,
            snapshot.next_workload,
            self._backends.send,
            self._delivery.take,
            self.history.ring,
            self._garbage.collect,
        )
        await on_store_thread(self.recording.begin, snapshot, time.time())
        await on_store_thread(self.cost.book.recall, time.time())
        if described is not None:
            self._put_events([TopologySet(described)])
        await self._start_backends(snapshot)
        running = asyncio.get_running_loop()
        services: ServiceBook = self.subsystems.shared("services")
        work = WorkOfSubsystems(
            self.workloads.submit_replicas,
            self.workloads.cancel,
            self._specs.many,
            self.commands,
            self.task_use.cores,
            services.unsettled,
        )
        access = ControlAccess(running, self.questions, self._put_events, self._backends.probe, work, self.ask)
        self.subsystems.start(access)
        self.started_at = time.time()
        relisting = self._backends.relisting(self.settings.loop.relist)
        watching = (self._watch(), relisting.run(), self.task_use.run())
        lasting = (self._loop.run(), self._retention.run(newest_record), *watching)
        self._tasks = [asyncio.ensure_future(part) for part in (*lasting, _warm_up())]
        await self._apply([])  # the engine takes in what the backends announced before anyone asks
        log.info("started", nodes=len(self.questions.nodes), workloads=len(self.questions.workloads))

    async def _restore(self) -> Snapshot:
        snapshot = await on_store_thread(self.store.restore)
        self.access.restore(await on_store_thread(self.store.tokens))
        self.engine.restore(snapshot)
        self._admission.recount()
        self._announcements.restore(snapshot.announced)
        self.discovery.start(snapshot.nodes)
        self.reservations.next_id = snapshot.next_reservation
        return snapshot

    def _make_folder(self) -> None:
        folder = self.settings.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            words = f"the data folder {folder} cannot be made: {error.strerror}; choose another with --data DIR"
            raise StoreError(words) from None

    async def _start_backends(self, snapshot: Snapshot) -> None:
        added, unusable = await self.backends.restored()
        named = [(name, entry, None) for name, entry in self.settings.backends.items()]
        there = {REGISTERED, *self.settings.backends, *(name for name, _, _ in added)}
        there.update(member.name for member in unusable)
        for missing in sorted({record.node.backend for record in snapshot.nodes} - there):
            self._put_events([BackendHealthChanged(missing, False, "no longer configured")])
        with_agents = (
            record.node.name
            for record in snapshot.nodes
            if record.node.backend == REGISTERED or self.access.has_token(record.node.name)
        )
        self.nodes.expect(with_agents)
        await self._backends.start([*named, *added], unusable, snapshot.outbox)

    async def stop(self) -> None:
        """Running work keeps running where its backend allows that; the next start adopts it."""
        await cancel(*self._tasks)
        if self._loop is not None and not self._loop.trouble:
            await self._loop.remember()
        await self.subsystems.stop()
        await self.commands.close()
        await self._backends.stop()
        await on_store_thread(self.recording.close)
        await on_store_thread(self.store.close)
        self._loop = None

    @property
    def ready(self) -> bool:
        return not self.trouble

    @property
    def trouble(self) -> str:
        """Why nothing can be accepted now; empty when all is well."""
        if self._loop is None:
            return "starting"
        if self._tasks and self._tasks[0].done():
            return "the control loop has stopped; see the log"
        return self._loop.trouble

    @property
    def trouble_here(self) -> str:
        """Which backend of this machine cannot start tasks; empty when all can. Other systems may be away without that
        being a fault of this server."""
        lame = [member.name for member in self._backends.members.values() if member.kind == LOCAL and member.problem]
        return f"backend {lame[0]} cannot start tasks; see dovetail backend {lame[0]}" if lame else ""

    @property
    def alive(self) -> bool:
        """False only if the loop died; then the process must be restarted."""
        return not (self._tasks and self._tasks[0].done())

    # --- reading ---------------------------------------------------------------------------------------------

    async def resolve(self, ref: str, namespace: str | None = None) -> dict[str, Any]:
        """One workload, however it is written (`names`). Raises NotFound; Conflict where several are meant."""
        row, _ = await self.names.one(ref, namespace)
        return row

    async def read(self, question: Callable[..., T], *args: Any) -> T:
        """Run a query of the store on a thread."""
        return await on_store_thread(question, *args)

    # --- inside ----------------------------------------------------------------------------------------------

    def _running(self) -> ControlLoop:
        if self._loop is None:
            raise Unavailable("the control plane is starting or stopping; try again")
        if self.trouble:
            raise Unavailable(f"cannot accept anything now: {self.trouble}")
        return self._loop

    async def copy(self) -> LiveCopy:
        """For another process: the state as of a step that is durable on return, with all that was learned."""
        self._running().remember_soon()
        await self._apply([])
        name = self.settings.folder.name
        return LiveCopy(self.settings.database, self.settings.scheduling, name, self.questions.network.measured)

    async def _apply(self, events: list[Event]) -> None:
        """Returns when the events are durable."""
        promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running().inbox.put(InboxEvents(events, promise=promise))
        await promise

    async def note(self, words: str, kind: str = "note") -> float:
        """Write a line of the history, durable on return; returns its time."""
        promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = HistoryLine(time.time(), kind, words)
        self._running().inbox.put(InboxEvents([], promise=promise, history=[line]))
        await promise
        return line.at

    async def _note_budget(self, words: str) -> None:
        await self.note(words, "budget")

    def _settled_at(self) -> float:
        return self._running().settled_at

    def _put_events(self, events: list[Event]) -> None:
        self._put_item(InboxEvents(events))

    def _put_item(self, item: InboxEvents) -> None:
        if self._loop is not None:
            self._loop.inbox.put(item)

    async def _watch(self) -> None:
        decided = 0
        while True:
            await asyncio.sleep(WATCH_S)
            self.nodes.notice_silence()
            self._garbage.collect()  # what requests left while there was nothing to decide
            if self.metrics.decisions_total == decided:
                self._garbage.collect_all()
            decided = self.metrics.decisions_total


async def _warm_up() -> None:
    """Load the parser and the solver before the first expression and the first node loss need them, but only after the
    rush of the start: together they take a second."""
    await asyncio.sleep(WARM_UP_AFTER_S)
    await asyncio.to_thread(parser.warm_up)
    await asyncio.to_thread(solver.warm_up)
