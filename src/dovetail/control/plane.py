"""The control plane: the doors through which requests reach the loop, and the order of starting and stopping.

Start: open the store, restore the engine, start the backends, send again what was not confirmed, reconcile what was;
only then does the loop decide. Every door that changes something returns when the change is durable.
"""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import orjson
import structlog

from dovetail.constraints import syntax as parser
from dovetail.control.admission import check_submission
from dovetail.control.announcements import Announcements
from dovetail.control.backend_doors import BackendDoors
from dovetail.control.backend_metrics import BackendMetrics
from dovetail.control.backends import Backends
from dovetail.control.errors import Conflict, NotFound, StoreError, Unavailable
from dovetail.control.hooks import Hooks
from dovetail.control.inbox import Accepted, News, Submission
from dovetail.control.loop import Loop
from dovetail.control.metrics import Metrics
from dovetail.control.network import NetworkDoors, read_topology_file
from dovetail.control.node_doors import NodeDoors
from dovetail.control.policies import PolicyDoors, check_names
from dovetail.control.question_desk import QuestionDesk
from dovetail.control.reservation_doors import ReservationDoors
from dovetail.control.service_affinity import ServiceAffinity
from dovetail.control.settings import REGISTERED, Settings
from dovetail.control.specs import Specs
from dovetail.control.store_threads import on_store_thread
from dovetail.control.task_output import TaskOutput
from dovetail.control.telemetry import DecisionLog
from dovetail.engine.engine import Engine
from dovetail.engine.lifecycle.dependencies import Ended, names_outside
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import BackendHealthChanged, CancelAsked, Event, TopologySet
from dovetail.model.record import Batch, Snapshot
from dovetail.model.task import WorkloadState
from dovetail.model.workloads.workload import Workload
from dovetail.placement.recovery import optimum as solver
from dovetail.store.contract import Store
from dovetail.store.sql import sqlite_store

T = TypeVar("T")
WATCH_S = 1.0
GC_THRESHOLDS = (50_000, 20, 50)

log = structlog.get_logger()


class ControlPlane:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.engine = Engine(settings.scheduling)
        self.questions = Questions(self.engine)
        self.ask = QuestionDesk(lambda: self.questions.version, settings.loop.slice / 2).ask
        self._announcements = Announcements(self.engine.state.cluster)
        self.metrics = Metrics(self.engine.state)
        self.store: Store = sqlite_store(settings.database)
        self.policies = PolicyDoors(self.engine.state, self.store, self._told)
        self.affinity = ServiceAffinity(self.policies)
        self.network = NetworkDoors(self.engine.state, self._told)
        self.started_at = 0.0
        self._specs = Specs(self.store)
        state, metrics = self.engine.state, BackendMetrics(self.metrics.registry)
        self._backends = Backends(settings, state, self._specs, self._inbox_put, self._announcements.heard, metrics)
        self.backends = BackendDoors(self._backends, state, self.store, settings, self._told, self._ring)
        self.output = TaskOutput(self.store, self._backends, settings.loop.call_timeout)
        registered, silence_s = self._backends.registered, settings.loop.heartbeat_timeout
        self.nodes = NodeDoors(state, registered, silence_s, self._told, self._tell)
        self.reservations = ReservationDoors(state, self._told, self.nodes.must_exist)
        logged = settings.logging.decisions and settings.logging.level in ("debug", "info")
        self._decision_log = DecisionLog(self.questions, settings.logging.format == "json") if logged else None
        self._hooks = Hooks(settings.hooks)
        self._tasks: list[asyncio.Future[None]] = []
        self._loop: Loop | None = None

    # --- starting and stopping -------------------------------------------------------------------------------

    async def start(self) -> None:
        """Raises StoreError when the database cannot be used, Invalid when the topology of the settings cannot."""
        described = read_topology_file(self.settings.topology)
        self._make_folder()
        gc.disable()  # hundreds of thousands of objects come to stay: looking for garbage among them only takes time
        await on_store_thread(self.store.open)
        snapshot = await on_store_thread(self.store.restore)
        self.engine.restore(snapshot)
        self._announcements.restore(snapshot.announced)
        gc.freeze()  # later collections need not look through them again, nor come so often
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()
        self.reservations.restore(snapshot.next_reservation)
        self._loop = Loop(
            self.engine,
            self.store,
            self.metrics,
            self.settings.loop,
            snapshot.next_workload,
            self._backends.carry_out,
            self._written,
        )
        if described is not None:
            self._tell([TopologySet(described)])
        await self._start_backends(snapshot)
        self.started_at = time.time()
        # The first expression should not wait for its parser, nor the first loss of a node for its solver.
        ready = [asyncio.to_thread(parser.warm_up), asyncio.to_thread(solver.warm_up)]
        self._tasks = [asyncio.ensure_future(work) for work in (self._loop.run(), self._watch(), *ready)]
        await self._told([])  # what the backends announced is taken in before anyone asks
        log.info("started", nodes=len(self.engine.state.cluster.rows), workloads=len(self.engine.state.work))

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
            self._tell([BackendHealthChanged(missing, False, "no longer configured")])
        registered = (record.node.name for record in snapshot.nodes if record.node.backend == REGISTERED)
        self.nodes.expect(registered)
        await self._backends.start([*named, *added], unusable, snapshot.outbox)

    async def stop(self) -> None:
        """Running work is left running where its backend can leave it; the next start finds it again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._loop is not None and not self._loop.trouble:
            await self._loop.remember()
        await self._backends.stop()
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
    def alive(self) -> bool:
        """The loop turns; False only if it died, which no request can mend."""
        return not (self._tasks and self._tasks[0].done())

    # --- doors: workloads ------------------------------------------------------------------------------------

    async def submit(self, specs: list[Workload], idempotency_key: str | None = None) -> list[Accepted]:
        """Durable when it returns; all or none. The same key again gives the first answer again."""
        self.check(specs)
        loop = self._running()
        if idempotency_key is not None:
            before = await self.read(self.store.idempotent_response, idempotency_key)
            if before is not None:
                return [Accepted(*found) for found in orjson.loads(before)]
        promise: asyncio.Future[list[Accepted]] = asyncio.get_running_loop().create_future()
        ended = await self._ended(specs)
        loop.inbox.put(Submission(specs, idempotency_key, promise, ended))
        return await promise

    async def check_now(self, specs: list[Workload]) -> None:
        """What `submit` would not take at this moment. Raises Conflict or Invalid."""
        ended = await self._ended(specs)
        self._running().admission.look(specs, 0, ended, time.time())

    async def _ended(self, specs: list[Workload]) -> Ended:
        """Of what these wait for, what the store remembers to have ended. What the engine knows comes first: it may
        have ended, or come again, while the store was asked."""
        state = self.engine.state
        known = state.cluster.placements.directory
        asked = sorted(key for key in names_outside(specs) if key not in known and key not in state.ended)
        found: dict[tuple[str, str], tuple[int, WorkloadState]] = {}
        for namespace, name in asked:
            row = await self.read(self.store.find_workload, namespace, name)
            if row is not None and row["finished_at"] is not None:
                found[namespace, name] = (row["id"], WorkloadState(row["state"]))
        return found

    def waiting_in(self, queue: int) -> int:
        """Workloads that wait in a queue and all below it."""
        return 0 if self._loop is None else self._loop.crowd.waiting(queue)

    def check(self, specs: list[Workload]) -> None:
        """What this server will not take, whoever is there already. Raises Invalid."""
        state = self.engine.state
        check_submission(specs, self.settings.limits, state.router, state.cluster.resources.overcommit)
        check_names(specs, self.engine.state.policies)

    async def resolve(self, ref: str, namespace: str) -> dict[str, Any]:
        """A workload by id or by name; the newest of that name."""
        if ref.isascii() and ref.isdigit():
            found = await self.read(self.store.workload, int(ref[:18]))
            what = f"workload {ref[:18]}"
        else:
            found = await self.read(self.store.find_workload, namespace, ref)
            what = f"workload {ref[:100]!r} in namespace {namespace[:100]!r}"
        if found is None:
            raise NotFound(f"no {what}")
        return found

    def group(self, namespace: str, name: str) -> list[int]:
        """The workloads that start together under this name, unless a workload itself has it; none: nobody does."""
        state = self.engine.state
        group = None if (namespace, name) in state.cluster.placements.directory else state.groups.named(namespace, name)
        return [] if group is None else list(group.members)

    async def cancel(self, workloads: list[int], reason: str) -> None:
        ended = [id_ for id_ in workloads if id_ not in self.engine.state.work]
        if ended:
            raise Conflict(f"workload {ended[0]} is already finished")
        await self._told([CancelAsked(id_, reason) for id_ in workloads])

    # --- doors: reading --------------------------------------------------------------------------------------

    async def read(self, question: Callable[..., T], *args: Any) -> T:
        """Ask the store on a thread."""
        return await on_store_thread(question, *args)

    @asynccontextmanager
    async def subscribe(self, after: int | None = None) -> AsyncIterator[AsyncIterator[dict[str, Any] | None]]:
        """History as it happens, from `after` (or from now); None every 15 s without news."""
        yield self._follow(await self.read(self.store.newest_history) if after is None else after)

    async def _follow(self, after: int) -> AsyncIterator[dict[str, Any] | None]:
        while True:
            bell = self._running().bell
            rings = bell.rings
            lines = await self.read(self.store.history, None, None, after, 500)
            for line in lines:
                yield line
                after = line["seq"]
            if not lines and not await bell.heard(rings, 15.0):
                yield None

    # --- inside ----------------------------------------------------------------------------------------------

    def _running(self) -> Loop:
        if self._loop is None:
            raise Unavailable("the control plane is starting or stopping; try again")
        if self.trouble:
            raise Unavailable(f"cannot accept anything now: {self.trouble}")
        return self._loop

    async def _told(self, events: list[Event]) -> None:
        promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running().inbox.put(News(events, promise=promise))
        await promise

    def _tell(self, events: list[Event]) -> None:
        self._inbox_put(News(events))

    def _inbox_put(self, event_count: News) -> None:
        if self._loop is not None:
            self._loop.inbox.put(event_count)

    def _ring(self) -> None:
        if self._loop is not None:
            self._loop.bell.ring()

    def _written(self, batch: Batch, specs: list[tuple[int, Workload]]) -> None:
        for id_, spec in specs:
            self._specs.keep(id_, spec)
        work = self.engine.state.work
        names = {id_: spec.name for id_, spec in specs}
        for decision in batch.changes.decisions:
            live = work.get(decision.task.workload)
            if live is not None:
                names[decision.task.workload] = live.name
                if decision.node is not None:
                    queue = self.engine.state.router.queues[live.queue].path
                    self.metrics.queue_wait_s.labels(queue).observe(decision.at - live.submitted_at)
        if self._decision_log is not None:
            self._decision_log.write(batch, names)
        for switch in batch.changes.switches:
            log.info(switch.message, policy=switch.policy, adjusted=switch.on)
        self._hooks.scheduled(batch, names)
        for record in batch.changes.workloads:
            single = record.state is WorkloadState.RUNNING and record.active == 1 and not record.pending
            if single or record.state.finished:
                self._specs.forget(record.id)

    async def _watch(self) -> None:
        """Silent nodes, and forgetting what is old."""
        pruned_at = time.time()
        while True:
            await asyncio.sleep(WATCH_S)
            now = time.time()
            self.nodes.notice_silence(now)
            if now - pruned_at > 3600:
                pruned_at = now
                retention = self.settings.retention
                await self.read(self.store.prune, now - retention.finished, now - retention.history)
