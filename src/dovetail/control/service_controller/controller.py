"""The controller of services: looks at the replicas there are, decides the next step of each service, takes it.

It looks again whenever a replica changed, a record changed, or time is up. Everything it decides follows from what is
stored and what runs, so a restart goes on where it was. Replicas are workloads with names of their own: creating one
twice is a conflict of names, and no second replica.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import structlog

from dovetail.control.errors import ControlError
from dovetail.control.service_controller.book import Key, ReplicaView, ServiceBook
from dovetail.control.service_controller.health import HealthWatch, WatchedReplica
from dovetail.control.service_controller.observing import ClusterLook, addresses_of, replica_view, seen_replica
from dovetail.control.service_controller.owned import NewReplica, NoPortLeft, OwnedReplica, name_of, new_replica
from dovetail.control.service_controller.scaling import Autoscaler
from dovetail.control.service_controller.signals import SignalMeter
from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.model.backoff import Backoff
from dovetail.model.command import task_of_key
from dovetail.model.event import TaskRestartAsked
from dovetail.model.task import TaskState
from dovetail.model.text.complaint import Invalid
from dovetail.services.reconcile import next_step
from dovetail.services.records import Create, Drain, NextStep, ReplicaSeen, RolloutState, ServiceRecord, StopReplica
from dovetail.services.replicas import ReplicaName, ports_of

LOOK_AT_LEAST_EVERY_S = 30.0
LOOK_AT_MOST_EVERY_S = 0.05
MOST_AT_ONCE = 200  # replicas in one submission
SETTLES_WITHIN_S = 10.0  # then the health of what ran before the start counts as known

log = structlog.get_logger()


class ServiceController(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        self._book: ServiceBook = context.shared
        if context.metrics is not None:
            context.metrics.follow(self._book)
        self._owned: dict[int, OwnedReplica] = {}
        self._waits: dict[Key, dict[int, float]] = defaultdict(dict)  # by index: not to be created again before
        self._pauses: dict[tuple[Key, int], Backoff] = defaultdict(lambda: Backoff(1.0, 60.0))
        self._wakened = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._health = HealthWatch(self._wake, self._restart, self._exit_code, self._book.now)
        self._unsettled_until: float | None = self._book.now() + SETTLES_WITHIN_S  # None: settled

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._book.on_change(self._wake_from_anywhere)
        await asyncio.to_thread(self._resume_updates)
        await self._find(await self.context.ask(lambda questions: questions.workloads.service_replicas()))
        self._wake()

    async def take(self, step: DurableStep) -> None:
        changed = (record.task.workload for record in step.batch.changes.tasks)
        ended = (record.id for record in step.batch.changes.workloads)
        if any(id_ in self._owned for ids in (changed, ended) for id_ in ids) or step.batch.changes.nodes:
            self._wake()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as both:
            both.create_task(self._reconcile_for_ever())
            both.create_task(self._health.run())
            both.create_task(Autoscaler(self._book, SignalMeter(self._cores_of)).run())

    def _cores_of(self, key: str) -> float | None:
        return None if self.context.control.work is None else self.context.control.work.cores(key)

    def _resume_updates(self) -> None:
        """Updates have all their time again: none could become healthy while nobody looked."""
        for key, record in self._book.records().items():
            if record.rollout is RolloutState.PROGRESSING:
                self._book.change(key, lambda now: now and replace(now, progress_at=self._book.now()))

    def _wake(self) -> None:
        self._wakened.set()

    def _wake_from_anywhere(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # its loop has ended: the next life of this controller looks at everything
                self._loop.call_soon_threadsafe(self._wake)

    # --- looking -------------------------------------------------------------------------------------------------

    async def _find(self, workloads: Iterable[int]) -> None:
        """Replicas that are live and not known here."""
        unknown = {id_ for id_ in workloads if id_ not in self._owned}
        definitions = await self.context.with_work(lambda work: work.definitions(unknown)) if unknown else {}
        for id_, spec in definitions.items():
            name = ReplicaName.of(spec)
            if name is not None:
                key = (spec.namespace, name.service)
                record = self._book.get(key)
                ports = {} if record is None else ports_of(record.spec_of(name.revision), spec)
                self._owned[id_] = OwnedReplica(key, name, ports)

    async def _look(self) -> ClusterLook:
        ids = list(self._owned)
        live = await self.context.ask(lambda questions: questions.workloads.replicas(ids))
        look = ClusterLook(self._book.now())
        for one in live:
            look.live[self._owned[one.workload].key].append(one)
        nodes = {one.node for one in live if one.node is not None}
        look.addresses = await self.context.ask(lambda questions: addresses_of(questions, nodes))
        for gone in set(ids) - {one.workload for one in live}:
            self._note_end(self._owned.pop(gone), look.now)
        return look

    def _note_end(self, owned: OwnedReplica, now: float) -> None:
        """One that ended by itself is created again after a pause that grows."""
        if owned.told or owned.draining_since is not None:
            self._pauses.pop((owned.key, owned.name.index), None)
        else:
            self._delay(owned.key, owned.name.index, now)

    def _delay(self, key: Key, index: int, now: float) -> None:
        self._waits[key][index] = now + self._pauses[key, index].next_s()

    def _follow_health(self, look: ClusterLook, records: dict[Key, ServiceRecord]) -> None:
        running = []
        for key, replicas in look.live.items():
            record = records.get(key)
            for one in replicas:
                if record is None or one.state is not TaskState.RUNNING or one.node is None or one.ending:
                    continue
                owned = self._owned[one.workload]
                spec = record.spec_of(owned.name.revision)  # an earlier version may be well in another way
                address, started = look.addresses.get(one.node), one.started_at or look.now
                running.append(WatchedReplica(one.key, spec, address, owned.ports, started, one.online))
        self._health.follow(running)

    # --- deciding and doing --------------------------------------------------------------------------------------

    async def _reconcile_for_ever(self) -> None:
        due: float | None = None
        while True:
            pause = (
                LOOK_AT_LEAST_EVERY_S if due is None else min(LOOK_AT_LEAST_EVERY_S, max(0.0, due - self._book.now()))
            )
            try:
                async with asyncio.timeout(pause):
                    await self._wakened.wait()
            except TimeoutError:
                pass
            self._wakened.clear()
            due = await self._reconcile()
            await asyncio.sleep(LOOK_AT_MOST_EVERY_S)

    async def _reconcile(self) -> float | None:
        """Take the next step of every service. When to look again, if time alone changes something."""
        look = await self._look()
        records = self._book.records()
        self._follow_health(look, records)
        creates: list[tuple[ServiceRecord, Create]] = []
        due: list[float] = []
        for key, record in records.items():
            step = next_step(record, self._seen(look, key), look.now, self._waits.get(key))
            if not await self._accept(record, step):
                self._wake()  # somebody changed it meanwhile
                continue
            due += [] if step.look_again_at is None else [step.look_again_at]
            creates += [(step.record, action) for action in step.actions if isinstance(action, Create)]
            await self._take_away(step, look.now)
        await self._stop_orphans(look, records)
        await self._create(creates)
        self._show(look, records)
        due += [] if self._unsettled_until is None else [self._unsettled_until]
        return min(due, default=None)

    def _seen(self, look: ClusterLook, key: Key) -> list[ReplicaSeen]:
        return [seen_replica(one, self._owned[one.workload], self._health) for one in look.live.get(key, ())]

    async def _accept(self, before: ServiceRecord, step: NextStep) -> bool:
        """Keep the new record, unless the record was changed meanwhile. Of a removed service without replicas nothing
        is left."""
        gone = before.removed and not step.actions and not any(o.key == before.key for o in self._owned.values())
        after = None if gone else step.record
        if after == before:
            return True
        fits = False

        def change(now: ServiceRecord | None) -> ServiceRecord | None:
            nonlocal fits
            fits = now == before
            return after if fits else now

        await asyncio.to_thread(self._book.change, before.key, change)
        if fits and after is not None and after.message and after.message != before.message:
            log.warning(after.message, service=after.name, namespace=after.namespace)
        return fits

    async def _take_away(self, step: NextStep, now: float) -> None:
        stops: dict[str, list[int]] = defaultdict(list)
        for action in step.actions:
            if isinstance(action, Drain):
                self._owned[action.workload].draining_since = now
            elif isinstance(action, StopReplica):
                stops[action.why].append(action.workload)
        for why, workloads in stops.items():
            await self._stop(workloads, why)

    async def _stop(self, workloads: list[int], why: str) -> None:
        for id_ in workloads:
            self._owned[id_].told = True
        try:
            await self.context.with_work(lambda work: work.cancel(workloads, why))
        except ControlError as error:  # one has just ended: look again, and stop the others then
            log.info("replicas were not stopped", reason=str(error))
            for id_ in workloads:
                self._owned[id_].told = False
            self._wake()

    async def _stop_orphans(self, look: ClusterLook, records: dict[Key, ServiceRecord]) -> None:
        """Replicas of services that nobody knows: removed while this server was down."""
        lost = [
            one.workload
            for key, live in look.live.items()
            if key not in records and self._book.unreadable(key) is None
            for one in live
        ]
        lost = [id_ for id_ in lost if not self._owned[id_].told]
        if lost:
            await self._stop(lost, "its service was removed")

    async def _create(self, wanted: list[tuple[ServiceRecord, Create]]) -> None:
        """All new replicas in one submission, so that those that talk to each other are placed together; one by one
        where that is refused."""
        taken = {number for owned in self._owned.values() for number in owned.ports.values()}
        made = []
        for record, action in wanted:
            try:
                made.append(new_replica(record, action, taken))
            except NoPortLeft as error:
                await self._note_refusal(OwnedReplica(record.key, name_of(record, action), {}), str(error))
        for first in range(0, len(made), MOST_AT_ONCE):
            chunk = made[first : first + MOST_AT_ONCE]
            if await self._submit(chunk) and len(chunk) > 1:
                for one in chunk:
                    await self._submit([one])
        if made:
            self._wake()

    async def _submit(self, made: list[NewReplica]) -> str:
        """Why they were refused; empty if they were not. One that is refused alone has to wait."""
        try:
            ids = await self.context.with_work(lambda work: work.submit([one.spec for one in made]))
        except (Invalid, ControlError) as error:
            if len(made) == 1:
                await self._note_refusal(made[0].owned, str(error))
            return str(error)
        for id_, one in zip(ids, made, strict=True):
            self._owned[id_] = one.owned
        return ""

    async def _note_refusal(self, owned: OwnedReplica, error: str) -> None:
        log.warning("a replica cannot be submitted", replica=str(owned.name), error=error)
        self._delay(owned.key, owned.name.index, self._book.now())
        await asyncio.to_thread(self._book.change, owned.key, lambda now: _with_message(now, error))
        # It may be there already, submitted by a life of this controller that did not see the answer.
        await self._find(await self.context.ask(lambda questions: questions.workloads.service_replicas()))

    # --- for others ----------------------------------------------------------------------------------------------

    def _restart(self, key: str, why: str) -> None:
        self.context.put([TaskRestartAsked(task_of_key(key), key, why)])

    async def _exit_code(self, key: str, command: list[str]) -> int:
        return await self.context.with_work(lambda work: work.exit_code(task_of_key(key), command))

    def _show(self, look: ClusterLook, records: dict[Key, ServiceRecord]) -> None:
        shown: dict[Key, tuple[ReplicaView, ...]] = {}
        for key in records:
            known = [(one, owned) for one in look.live.get(key, ()) if (owned := self._owned.get(one.workload))]
            views = [replica_view(one, owned, self._health, look) for one, owned in known]
            shown[key] = tuple(sorted(views, key=lambda view: (view.index, view.revision)))
        self._book.show(shown, settled=self._is_settled(look))

    def _is_settled(self, look: ClusterLook) -> bool:
        """Once every replica that ran when this controller started was judged."""
        if self._unsettled_until is not None:
            running = [one.key for live in look.live.values() for one in live if one.state is TaskState.RUNNING]
            if look.now >= self._unsettled_until or all(self._health.is_judged(key) for key in running):
                self._unsettled_until = None
        return self._unsettled_until is None


def _with_message(record: ServiceRecord | None, message: str) -> ServiceRecord | None:
    return None if record is None else replace(record, message=message)
