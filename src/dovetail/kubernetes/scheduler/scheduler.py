"""The scheduler: follows the cluster, decides with the engine, executes the decisions.

Everything that touches the engine runs on one event loop, between two awaits, so the engine needs no lock. Decisions
are made in slices; while one slice is bound the next is decided.

Guarantees: nothing is decided before everything that existed at the start is known; a scheduler that stood by lists the
cluster once more before it decides, since a watch may be late. A pod counts on its node from the
moment of the decision, so no capacity is given away twice; if its binding fails the pod is pending again. Two
schedulers at once do no harm, since the API server binds a pod once; leader election (`election`) leaves one to decide.
Left to others: leader election, and pods once they run.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from dovetail.kubernetes.objects.pods import PodReader
from dovetail.kubernetes.scheduler.audit import Auditor
from dovetail.kubernetes.scheduler.binder import Binder, PodBinding, PodEviction
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes.scheduler.device_binder import DeviceBinder
from dovetail.kubernetes.scheduler.pod_conditions import (
    FAILED,
    PREEMPTED,
    SCHEDULED,
    disrupted,
    incomplete,
    pod_reference,
    unschedulable,
)
from dovetail.kubernetes.scheduler.pod_groups import PodGroups
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings, engine_for, line_of
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes.scheduler.volume_binder import VolumeBinder
from dovetail.kubernetes_client import pods as pod_calls
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import KubernetesApiError
from dovetail.kubernetes_client.objects import NamespacedName
from dovetail.kubernetes_client.recorder import Recorder
from dovetail.model.command import Bind, Command, Stop, Wake
from dovetail.model.event import BindFailed, TaskBound, Tick
from dovetail.model.reason import Outcome
from dovetail.model.record import Decision
from dovetail.model.task import TaskId

_log = logging.getLogger(__name__)

SLICE = 64  # decisions between two turns of the event loop
BACKLOG = 192  # orders that may be under way: more would only make each wait longer for its turn
NOTES_AT_ONCE = 4
NOTES_KEPT, NOTES_LATEST_S = 20_000, 10.0
#: Results of attempts to schedule a pod.
DECIDED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"
GANG_SETTLES_S = 2.0  # pods of a gang arrive one after the other: missing ones are reported after this


class PodScheduler:
    def __init__(
        self,
        api: Api,
        settings: KubernetesSchedulerSettings | None = None,
        *,
        instance: str = "dovetail",
        now: Callable[[], float] = time.time,
        leads: Callable[[], bool] = lambda: True,
        stands_by: bool = False,
    ) -> None:
        """`stands_by`: it follows the cluster, and decides only after `lead` was called. `leads`: whether it may still
        send what it decided."""
        self._api, self._now = api, now
        self._may_decide = asyncio.Event()
        if not stands_by:
            self._may_decide.set()
        self.settings = settings or KubernetesSchedulerSettings()
        self.engine = engine_for(self.settings)
        readers = {name: PodReader(line_of(name), profile) for name, profile in self.settings.names.items()}
        self.informer = ClusterInformer(api, self.engine, readers, now)
        self.tracker, self.objects = self.informer.tracker, self.informer.objects
        self.binder = Binder(api, self._bound, self._not_evicted, self.settings.bindings_at_once, leads)
        self._volumes = VolumeBinder(api, self.informer, self.binder.put, self._bound)
        self._devices = DeviceBinder(api, self.informer.devices, self._volumes.put, self._bound)
        self.auditor = Auditor(
            api, self.informer, self.settings.names, lambda: {*self._devices.waited_for, *self._volumes.waited_for}
        )
        self.recorder = Recorder(api, next(iter(self.settings.names)), instance, busy=lambda: self.binder.under_way > 0)
        self.pod_groups = PodGroups(api, self.tracker, self.recorder, now)
        self.objects.follow_groups(self.pod_groups.set_group, self.pod_groups.drop_group)
        self.informer.follow_pods(self.pod_groups.set_pod, self.pod_groups.drop_pod)
        self._changed, self._questions = self.informer.changed, self.informer.questions.pods
        self._wake: asyncio.TimerHandle | None = None
        # By pod: why it waits, and the node on which others are preempted for it.
        self._notes: dict[NamespacedName, tuple[TrackedPod, str, str | None]] = {}
        self._gangs_looked_at: set[NamespacedName] = set()  # soon
        self._noted = asyncio.Event()
        self.bound = self.not_bound = self.evicted = 0
        self.ready = False  # it knows its cluster, and decides
        self.took_s: Callable[[float], None] = lambda _: None
        self.attempts: Counter[str] = Counter()  # by result, as kube-scheduler counts them
        self.decided: Callable[[str, float], None] = lambda _result, _took_s: None

    def lead(self) -> None:
        """From now on it decides."""
        self._may_decide.set()
        self._changed.set()

    async def run(self) -> None:
        """Runs until cancelled, or until the cluster cannot be followed."""
        self.binder.begin()
        self.recorder.begin()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.informer.run(), name="follow the cluster")
                await self.informer.synced.wait()
                if not self._may_decide.is_set():
                    await self._stand_by()
                    await self.informer.list_again()
                    self._tell_all_held()
                self.ready = True
                group.create_task(self._decide(), name="decide")
                group.create_task(self.pod_groups.run(), name="pod groups")
                group.create_task(self.auditor.run(self.settings.audit_every_s), name="audit")
                for _ in range(NOTES_AT_ONCE):
                    group.create_task(self._write_notes(), name="write notes")
        finally:
            self.ready = False
            await self._devices.close()
            await self._volumes.close()
            await self.binder.close()
            await self.recorder.close()

    async def _stand_by(self) -> None:
        """Keeps up with the cluster until it may decide."""
        while not self._may_decide.is_set():
            self._changed.clear()
            self.informer.read_again()
            self.informer.cut_gangs.evict_rest(lambda *_: None)
            self.tracker.take_commands()
            self.tracker.take_held()
            self.engine.take_decisions()
            await self._changed.wait()

    # --- deciding --------------------------------------------------------------------------------------------

    async def _decide(self) -> None:
        self._awake()  # what was due while it stood by
        while True:
            self._changed.clear()
            self.informer.read_again()
            self.informer.cut_gangs.evict_rest(self._evict)
            self._carry_out(self.tracker.take_commands())
            if self.engine.busy:
                await self.binder.fewer_than(BACKLOG)
                self.objects.tell_budgets()
                # The devices that are left are known only after each decision.
                self._slice(1 if self.informer.devices.wanted else SLICE)
                await asyncio.sleep(0)
                continue
            self._slice(0)
            self.informer.forget_devices()
            self._tell_held()
            await self._changed.wait()

    def _slice(self, limit: int) -> None:
        now, began = self._now(), time.perf_counter()
        if limit:
            self._carry_out(self.engine.handle(Tick(limit), now))
        decisions = self.engine.take_decisions()
        each_s = (time.perf_counter() - began) / max(1, len(decisions))
        for decision in decisions:
            self.decided(UNSCHEDULABLE if decision.node is None else DECIDED, each_s)
            if decision.node is None:
                self.attempts[UNSCHEDULABLE] += 1
                self._refused(decision)

    def _carry_out(self, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, Bind):
                known = self.tracker.chose(command.task, command.node)
                if known is not None:
                    about = known.id, known.namespace, known.name, known.uid
                    order = PodBinding(*about, command.node, command.key, time.monotonic())
                    self._devices.put(order, known.pod)
            elif isinstance(command, Stop):
                self._stop(command)
            elif isinstance(command, Wake):
                self._wake_at(command.at)

    def _stop(self, command: Stop) -> None:
        """Deletes victims only: pods that leave their node for other reasons are not ours to delete."""
        known = self.tracker.by_id.get(command.task.workload)
        task = self._questions.task(command.task)
        if known is None or task is None or not task.is_preempted:
            return
        condition = disrupted(task.message) if known.controlled else None
        eviction = PodEviction(known.id, known.namespace, known.name, known.uid, condition)
        self._evict(eviction, known, task.message)

    def _evict(self, eviction: PodEviction, known: TrackedPod, why: str) -> None:
        self.recorder.record(pod_reference(known), PREEMPTED, why, "Preempting")
        self.evicted += 1
        self.binder.put(eviction)

    def _wake_at(self, at: float) -> None:
        if self._wake is not None:
            self._wake.cancel()
        delay_s = max(0.0, at - self._now())
        self._wake = asyncio.get_running_loop().call_later(delay_s, self._awake)

    def _awake(self) -> None:
        self._carry_out(self.engine.handle(Tick(0), self._now()))
        self._changed.set()

    def _bound(self, order: PodBinding, why_not: str) -> None:
        self.bound += not why_not
        self.not_bound += bool(why_not)
        self.attempts[ERROR if why_not else DECIDED] += 1
        if not why_not:
            self.took_s(time.monotonic() - order.decided_s)
        known = self.tracker.by_id.get(order.id)
        if known is None:
            return
        if not why_not:
            self.engine.handle(TaskBound(TaskId(order.id, 0), order.key), self._now())
            note = f"Successfully assigned {order.namespace}/{order.name} to {order.node}"
            self.recorder.record(pod_reference(known), SCHEDULED, note, "PodBinding")
            return
        _log.info("%s/%s was not bound to %s: %s", order.namespace, order.name, order.node, why_not)
        self.tracker.not_bound(known, order.key)
        self.tracker.commands += self.engine.handle(BindFailed(TaskId(order.id, 0), order.key, why_not), self._now())
        self._changed.set()

    def _not_evicted(self, order: PodEviction) -> None:
        """The victim stays: the pod that was to take its place needs another node."""
        known = self.tracker.by_id.get(order.id)
        if known is not None:
            self.tracker.stays(known)
            self._changed.set()

    def pending_pods(self) -> Counter[str]:
        """Pods of ours without a node, by queue."""
        ours = [one for one in list(self.tracker.pods.values()) if one.scheduler in self.settings.names]
        waits = [one for one in ours if not one.node and not one.chosen]
        return Counter(self._questions.pending_queue(one.id) if one.id else "gated" for one in waits)

    # --- telling ---------------------------------------------------------------------------------------------

    def _refused(self, decision: Decision) -> None:
        known = self.tracker.by_id.get(decision.task.workload)
        if known is not None and known.waits:
            told = decision.explanation
            preempting = told.outcome == Outcome.PREEMPTING
            if known.pod is not None and not preempting:
                self._devices.give_back(known.pod)
            self._note(known, told.message, self._questions.nominated_node(known.id) if preempting else None)

    def _note(self, known: TrackedPod, message: str, nominated: str | None = None) -> None:
        self.recorder.record(pod_reference(known), FAILED, message, "Scheduling", "Warning")
        if len(self._notes) < NOTES_KEPT:
            self._notes[known.place] = (known, message, nominated)
            self._noted.set()

    def _tell_all_held(self) -> None:
        for place, why in self.tracker.held.items():
            self._note(self.tracker.pods[place], why)

    def _tell_held(self) -> None:
        """Reports why pods wait that the engine does not have."""
        for known, why in self.tracker.take_held():
            self._note(known, why)
        for gang in self.tracker.changed_gangs - self._gangs_looked_at:
            self._gangs_looked_at.add(gang)
            asyncio.get_running_loop().call_later(GANG_SETTLES_S, self._tell_gang, gang)
        self.tracker.changed_gangs.clear()

    def _tell_gang(self, gang: NamespacedName) -> None:
        self._gangs_looked_at.discard(gang)
        status = self._questions.gang(*gang)
        if status is None or not status.missing:
            return
        there = [known for known in self.tracker.gang(gang) if known.waits]
        for known in there:
            self._note(known, incomplete(gang[1], len(there), status.short))

    async def _write_notes(self) -> None:
        while True:
            while not self._notes:
                self._noted.clear()
                await self._noted.wait()
            await self.binder.calm(NOTES_LATEST_S)
            if not self._notes:
                continue
            place = next(iter(self._notes))
            known, message, nominated = self._notes.pop(place)
            if self.tracker.pods.get(place) is not known or known.node or known.chosen:
                continue
            with suppress(KubernetesApiError):  # only for people; the next reason may be accepted
                await pod_calls.nominate(
                    self._api, known.namespace, known.name, nominated, [unschedulable(message)], known.uid
                )
