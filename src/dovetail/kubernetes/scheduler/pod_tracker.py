"""Tracks which workload of the engine each pod is, and turns changes of pods into events.

Guarantees: the engine has exactly the pods that count: those on a known node, and those of ours that are pending. A pod
that we gave a node counts there at once, though the watch reports it later; in the end the API is right. A pod on an
unknown node counts nowhere until the node appears.
Left to others: executing decisions, and objects other than pods.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from dovetail.engine.engine import Engine
from dovetail.engine.questions.questions import Questions
from dovetail.kubernetes.devices.claims import claims_devices
from dovetail.kubernetes.objects.annotations import AnnotationError
from dovetail.kubernetes.objects.gangs import Gangs, gang_of, no_such_group
from dovetail.kubernetes.objects.pods import SUCCEEDED, PodMeaning, PodReader, gates_of, is_finished
from dovetail.kubernetes.objects.storage import claim_names
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod, counts_the_same
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name, seconds
from dovetail.model.command import Command, attempt_key
from dovetail.model.event import CancelAsked, Event, Nominated, TaskFinished, TaskStarted, WorkArrived
from dovetail.model.requests.terms import Terms
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority

#: All pods have one of our own priority classes; priorities of Kubernetes are whole numbers within it.
RANK = Priority.MEDIUM.rank
_DEVICES_OF_GANGS = (
    "it is in a gang and has a resource claim without devices; whether there are enough devices for the whole gang is "
    "not counted: ask for an extended resource instead, or leave the pods to kube-scheduler"
)


class PodTracker:
    """`held`: pods that cannot be told to the engine as they are, and why."""

    def __init__(self, engine: Engine, readers: Mapping[str, PodReader], now: Callable[[], float]) -> None:
        """`readers`: by `schedulerName`; the first one also reads pods of other schedulers."""
        self._engine, self._readers, self._now = engine, readers, now
        questions = Questions(engine)
        self._questions, self._nodes = questions.pods, questions.nodes
        self._default_reader = next(iter(readers.values()))
        self._last = 0
        self.pods: dict[NamespacedName, TrackedPod] = {}
        self.by_id: dict[int, TrackedPod] = {}
        self.gangs = Gangs()
        self.held: dict[NamespacedName, str] = {}
        self._held_anew: list[tuple[TrackedPod, str]] = []
        self._of_gang: dict[NamespacedName, dict[int, TrackedPod]] = {}  # by gang: its pods that the engine knows
        self.changed_gangs: set[NamespacedName] = set()  # that pods came to, or left
        self.paused_gangs: dict[NamespacedName, str] = {}  # that are not to be placed now, and why
        self.commands: list[Command] = []  # that the engine gave in return, not taken yet

    def take_commands(self) -> list[Command]:
        found, self.commands = self.commands, []
        return found

    # --- pods ------------------------------------------------------------------------------------------------

    def seen(self, pod: Json) -> None:
        """A pod exists, or has changed."""
        place, uid = namespaced_name(pod), pod["metadata"]["uid"]
        known, finished = self.pods.get(place), is_finished(pod)
        if known is not None and (known.uid != uid or finished):
            self.gone(place)
            known = None
        if finished:
            self._ended(place, pod)
            return
        if known is None:
            known = self.pods[place] = TrackedPod(*place, uid, scheduler=pod["spec"].get("schedulerName") or "")
        node = pod["spec"].get("nodeName") or ""
        if node:
            self._on_node(known, pod, node)
        else:
            self._without_node(known, pod)

    def is_our_eviction(self, pod: Json) -> bool:
        """Is the pod terminating because we evicted it, with no other change?"""
        about = pod["metadata"]
        if "deletionTimestamp" not in about or is_finished(pod):
            return False
        known = self.pods.get(namespaced_name(pod))
        if known is None or known.uid != about["uid"] or not known.id:
            return False
        return self._questions.is_evicted(TaskId(known.id, 0))

    def gone(self, place: NamespacedName) -> None:
        self.held.pop(place, None)
        known = self.pods.pop(place, None)
        if known is not None:
            self._forget(known)

    def deleted(self, place: NamespacedName, uid: str) -> None:
        """The API no longer has the pod."""
        self.gangs.gone(place)
        known = self.pods.get(place)
        if known is not None and known.uid == uid:
            self.gone(place)

    def _ended(self, place: NamespacedName, pod: Json) -> None:
        """A pod that succeeded counts for its gang: pending pods of the gang need no replacement for it."""
        gang = gang_of(pod)
        if gang and pod["status"]["phase"] == SUCCEEDED and self.gangs.succeeded((place[0], gang), place):
            self.read_gang_again((place[0], gang))

    def _on_node(self, known: TrackedPod, pod: Json, node: str) -> None:
        meaning = self._default_reader.read(pod, placed=True)
        self.held.pop(known.place, None)
        if known.id and not known.node and self._placed_on(known) == node:
            known.node = node
            self._tell(TaskStarted(TaskId(known.id, 0), self.key(known)))
            before = known.meaning
            if before is None or not counts_the_same(before, meaning):
                self._forget(known)
        elif known.id and (known.node != node or known.meaning != meaning):
            self._forget(known)
        known.node, known.meaning, known.pod = node, meaning, None
        known.since = (pod.get("status") or {}).get("startTime")
        known.controlled = any(owner.get("controller") for owner in pod["metadata"].get("ownerReferences") or ())
        if not known.id and node in self._nodes:
            self._arrive(known, meaning, (node,))
            if "deletionTimestamp" in pod["metadata"]:  # others may wait for what it holds
                self._tell(CancelAsked(known.id, "terminating"))

    def _without_node(self, known: TrackedPod, pod: Json) -> None:
        reader = self._readers.get(known.scheduler)
        if reader is None or gates_of(pod) or "deletionTimestamp" in pod["metadata"]:
            self._forget(known)
            self.held.pop(known.place, None)
            return
        try:
            meaning = reader.read(pod)
        except AnnotationError as error:
            self._hold(known, pod, str(error))
            return
        if meaning.gang and meaning.devices_mark:
            self._hold(known, pod, _DEVICES_OF_GANGS)
            return
        gang = (known.namespace, meaning.gang) if meaning.gang else None
        least = 0 if gang is None else self.gangs.least(gang, meaning.gang_min)
        if known.id and known.meaning == meaning and known.least == least:
            self._nominate(known, pod)
            return  # such as a condition that we wrote ourselves
        if gang is not None and gang in self.paused_gangs and not known.chosen:
            self._hold(known, pod, self.paused_gangs[gang])
            known.gang = gang
            return
        if known.chosen:
            known.pod = pod
            return  # its binding is under way; it is read again if that fails
        if least is None:
            self._hold(known, pod, no_such_group(meaning.gang))
            return
        self._forget(known)
        self.held.pop(known.place, None)
        known.meaning, known.pod, known.gang, known.least = meaning, pod, gang, least
        self._arrive(known, meaning, ())
        self._nominate(known, pod)

    def _nominate(self, known: TrackedPod, pod: Json) -> None:
        node = (pod.get("status") or {}).get("nominatedNodeName") or ""
        if known.nominated != node:
            known.nominated = node
            self._tell(Nominated(known.id, node))

    def _hold(self, known: TrackedPod, pod: Json, why: str) -> None:
        self._forget(known)
        known.pod = pod
        if self.held.get(known.place) != why:
            self.held[known.place] = why
            self._held_anew.append((known, why))

    def take_held(self) -> list[tuple[TrackedPod, str]]:
        """Pods held since the last call, with the reasons."""
        found, self._held_anew = self._held_anew, []
        return found

    # --- nodes -----------------------------------------------------------------------------------------------

    def node_came(self, name: str) -> None:
        """Pods on the node that were seen before it count from now on."""
        for known in self._on(name):
            if not known.id and known.meaning is not None:
                self._arrive(known, known.meaning, (name,))

    def node_goes(self, name: str) -> None:
        """Pods on the node hold nothing any more; replacing them is not ours to do."""
        for known in self._on(name):
            self._forget(known)
        for known in self.by_id.values():
            if known.chosen == name and not known.node:
                known.chosen = ""  # the engine looks for another; if it is bound after all, the watch reports it

    def _on(self, node: str) -> list[TrackedPod]:
        return [known for known in self.pods.values() if known.node == node]

    # --- what became of decisions ----------------------------------------------------------------------------

    def chose(self, task: TaskId, node: str) -> TrackedPod | None:
        """The engine chose the node; None: the pod is no longer tracked."""
        known = self.by_id.get(task.workload)
        if known is not None:
            known.chosen = node
        return known

    def not_bound(self, known: TrackedPod, key: str) -> None:
        """The binding of this attempt failed."""
        if self.key(known) == key:
            known.chosen = ""
            if known.pod is not None:
                self.seen(known.pod)  # it may have changed meanwhile

    def stays(self, known: TrackedPod) -> None:
        """The pod was to be evicted and may not be deleted: it cannot be a victim again until it changes."""
        if known.node and known.meaning is not None:
            self._forget(known)
            firm = replace(known.meaning, terms=replace(known.meaning.terms, preemptible=False))
            self._arrive(known, firm, (known.node,))

    def waiting(self) -> Iterator[TrackedPod]:
        return (known for known in self.by_id.values() if known.waits)

    def read_again(self, *, with_claims: bool = False) -> None:
        """Namespaces, volumes, devices or pod groups changed, so pending pods may mean something else now.
        `with_claims`: only pods that have claims."""
        found = [*self.waiting(), *[self.pods[place] for place in self.held]]
        if with_claims:
            found = [known for known in found if known.pod is not None and _has_claims(known.pod)]
        self._read_again(found)

    def read_gang_again(self, gang: NamespacedName) -> None:
        self._read_again([known for known in self._of_gang.get(gang, {}).values() if known.waits])

    def read_places_again(self, places: Iterable[NamespacedName]) -> None:
        """Reads those of these pods again that are pending."""
        found = [known for place in sorted(places) if (known := self.pods.get(place)) is not None]
        self._read_again([known for known in found if known.waits or known.place in self.held])

    def _read_again(self, found: list[TrackedPod]) -> None:
        for known in found:
            if known.pod is not None:
                self.seen(known.pod)

    def pause_gang(self, gang: NamespacedName, why: str) -> None:
        """Its pods without a node are held; what was cleared for them is free for others."""
        self.paused_gangs[gang] = why
        for known in self.gang(gang):
            if known.waits and known.pod is not None:
                self._hold(known, known.pod, why)

    def resume_gang(self, gang: NamespacedName) -> None:
        if self.paused_gangs.pop(gang, None) is not None:
            held = [place for place in self.held if self.pods[place].gang == gang]
            self.read_places_again(held)

    def gang(self, gang: NamespacedName) -> list[TrackedPod]:
        """The gang's pods that the engine has."""
        return list(self._of_gang.get(gang, {}).values())

    def key(self, known: TrackedPod) -> str:
        task = TaskId(known.id, 0)
        return attempt_key(task, self._questions.attempt(task))

    # --- telling the engine ----------------------------------------------------------------------------------

    def _arrive(self, known: TrackedPod, meaning: PodMeaning, nodes: tuple[str, ...]) -> None:
        self._last += 1
        known.id = self._last
        self.by_id[known.id] = known
        # A new pod and a terminating one of the same name are two workloads.
        name = f"{known.name}/{known.id}"
        since = seconds(known.since, self._now()) if nodes else None
        terms = meaning.terms
        if meaning.gang:
            gang = known.gang = known.namespace, meaning.gang
            self._of_gang.setdefault(gang, {})[known.id] = known
            self.changed_gangs.add(gang)
            if nodes:  # what it needs to go on, should somebody want its node
                known.least = self.gangs.least(gang, meaning.gang_min) or 1
            terms = _in_gang(terms, meaning.gang, known.least or 1)
        self._tell(WorkArrived(known.id, known.namespace, name, RANK, terms, nodes=nodes, since=since))

    def _forget(self, known: TrackedPod) -> None:
        """Removes the pod from the engine."""
        if not known.id:
            return
        id_, held = known.id, bool(self._placed_on(known))
        key = self.key(known)
        del self.by_id[id_]
        if known.gang is not None:
            fellows = self._of_gang.get(known.gang, {})
            fellows.pop(id_, None)
            self.changed_gangs.add(known.gang)
            if not fellows:
                self._of_gang.pop(known.gang, None)
        known.id, known.chosen, known.nominated = 0, "", ""
        self._tell(CancelAsked(id_, "gone"))
        if held:
            self._tell(TaskFinished(TaskId(id_, 0), key, None, "gone"))

    def _placed_on(self, known: TrackedPod) -> str:
        """The node where the engine has it; empty after the node left, even while a binding is under way."""
        return self._questions.node_of(TaskId(known.id, 0))

    def _tell(self, event: Event) -> None:
        self.commands += self._engine.handle(event, self._now())


def _has_claims(pod: Json) -> bool:
    return bool(claim_names(pod)) or claims_devices(pod)


@lru_cache(maxsize=4096)
def _in_gang(terms: Terms, gang: str, least: int) -> Terms:
    """The pods of a gang start together; afterwards each is on its own."""
    return replace(terms, group=gang, group_min=least, loose=True)
