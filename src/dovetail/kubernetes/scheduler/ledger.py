"""What the engine has been told of each pod, and what to tell it when a pod changes.

Guarantees: the engine holds exactly the pods that count: those that hold room on a node that is there, and those of
ours that wait for one. A pod that was given a node by us stays there from that moment on, though the watch says so
later; what the API says in the end is what counts. A pod on a node that nobody knows (yet) waits for nothing and counts
nowhere until the node comes.
Left to others: carrying out what the engine decides, and other objects than pods.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dovetail.engine.engine import Engine
from dovetail.kubernetes.annotations import AnnotationError
from dovetail.kubernetes.devices.claims import claims_devices
from dovetail.kubernetes.gangs import Gangs, gang_of, no_such_group
from dovetail.kubernetes.moment import seconds
from dovetail.kubernetes.pods import SUCCEEDED, PodMeaning, PodReader, gates_of, is_finished
from dovetail.kubernetes.scheduler.known import Known, Place, counts_alike
from dovetail.kubernetes.storage import claim_names
from dovetail.model.command import Command, attempt_key
from dovetail.model.event import CancelAsked, Event, Nominated, TaskFinished, TaskStarted, WorkArrived
from dovetail.model.requests.terms import Terms
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority

Json = Mapping[str, Any]
#: All pods are of one class for our own classes of urgency: theirs are whole numbers, which go along with them.
RANK = Priority.MEDIUM.rank
_DEVICES_OF_GANGS = (
    "it starts together with others and has a resource claim without devices, of which nobody counts whether there are "
    "enough for all of them: ask for an extended resource instead, or leave the pods to kube-scheduler"
)


class Ledger:
    """`held`: pods that cannot be told to the engine as they are, and why; `told` of those that are new."""

    def __init__(self, engine: Engine, readers: Mapping[str, PodReader], now: Callable[[], float]) -> None:
        """`readers`: by the scheduler's name that pods bear, how we read them; the first reads everybody else's."""
        self._engine, self._readers, self._now = engine, readers, now
        self._anybody = next(iter(readers.values()))
        self._last = 0
        self.pods: dict[Place, Known] = {}
        self.by_id: dict[int, Known] = {}
        self.gangs = Gangs()
        self.held: dict[Place, str] = {}
        self._held_anew: list[tuple[Known, str]] = []
        self._of_gang: dict[Place, dict[int, Known]] = {}  # by gang: its pods that the engine knows
        self.gangs_stirred: set[Place] = set()  # that pods came to, or left
        self.commands: list[Command] = []  # that the engine gave in return, not taken yet

    def take_commands(self) -> list[Command]:
        found, self.commands = self.commands, []
        return found

    # --- pods ------------------------------------------------------------------------------------------------

    def seen(self, pod: Json) -> None:
        """A pod is there, or has changed."""
        about = pod["metadata"]
        place, uid = (about["namespace"], about["name"]), about["uid"]
        known = self.pods.get(place)
        if known is not None and known.uid != uid:
            self.gone(place)
            known = None
        if known is None:
            if is_finished(pod):
                self._ended(place, pod)
                return
            known = self.pods[place] = Known(*place, uid, scheduler=pod["spec"].get("schedulerName") or "")
        node = pod["spec"].get("nodeName") or ""
        if is_finished(pod):
            self.gone(place)
            self._ended(place, pod)
        elif node:
            self._on_node(known, pod, node)
        else:
            self._without_node(known, pod)

    def goes_for_us(self, pod: Json) -> bool:
        """Is it marked as going, for that we told it so, with nothing else to say?"""
        about = pod["metadata"]
        if "deletionTimestamp" not in about or is_finished(pod):
            return False
        known = self.pods.get((about["namespace"], about["name"]))
        if known is None or known.uid != about["uid"] or not known.id:
            return False
        return TaskId(known.id, 0) in self._engine.state.stopping and not self._engine.state.work[known.id].cancelled

    def gone(self, place: Place) -> None:
        self.held.pop(place, None)
        known = self.pods.pop(place, None)
        if known is not None:
            self._forget(known)

    def deleted(self, place: Place, uid: str) -> None:
        """The API knows it no longer."""
        self.gangs.gone(place)
        known = self.pods.get(place)
        if known is not None and known.uid == uid:
            self.gone(place)

    def _ended(self, place: Place, pod: Json) -> None:
        """Others of its gang that wait still need no others in its place if it ended well."""
        gang = gang_of(pod)
        if gang and pod["status"]["phase"] == SUCCEEDED and self.gangs.succeeded((place[0], gang), place):
            self.read_gang_again((place[0], gang))

    def _on_node(self, known: Known, pod: Json, node: str) -> None:
        meaning = self._anybody.read_placed(pod)
        self.held.pop(known.place, None)
        if known.id and not known.node and self._placed_on(known) == node:
            known.node = node
            self._tell(TaskStarted(TaskId(known.id, 0), self.key(known)))
            before = known.meaning
            if before is None or not counts_alike(before, meaning):
                self._forget(known)
        elif known.id and (known.node != node or known.meaning != meaning):
            self._forget(known)
        known.node, known.meaning, known.pod = node, meaning, None
        known.since = (pod.get("status") or {}).get("startTime")
        known.controlled = any(owner.get("controller") for owner in pod["metadata"].get("ownerReferences") or ())
        if not known.id and node in self._engine.state.cluster.rows:
            self._arrive(known, meaning, (node,))
            if "deletionTimestamp" in pod["metadata"]:  # others may wait for what it holds
                self._tell(CancelAsked(known.id, "terminating"))

    def _without_node(self, known: Known, pod: Json) -> None:
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
        if known.chosen:
            known.pod = pod
            return  # its binding is under way, and that is all there is to know of it now
        if least is None:
            self._hold(known, pod, no_such_group(meaning.gang))
            return
        self._forget(known)
        self.held.pop(known.place, None)
        known.meaning, known.pod, known.gang, known.least = meaning, pod, gang, least
        self._arrive(known, meaning, ())
        self._nominate(known, pod)

    def _nominate(self, known: Known, pod: Json) -> None:
        node = (pod.get("status") or {}).get("nominatedNodeName") or ""
        if known.nominated != node:
            known.nominated = node
            self._tell(Nominated(known.id, node))

    def _hold(self, known: Known, pod: Json, why: str) -> None:
        self._forget(known)
        known.pod = pod
        if self.held.get(known.place) != why:
            self.held[known.place] = why
            self._held_anew.append((known, why))

    def take_held(self) -> list[tuple[Known, str]]:
        """Of whom it was not said yet."""
        found, self._held_anew = self._held_anew, []
        return found

    # --- nodes -----------------------------------------------------------------------------------------------

    def node_came(self, name: str) -> None:
        """Pods that were on it before anybody knew it count from now on."""
        for known in self._on(name):
            if not known.id and known.meaning is not None:
                self._arrive(known, known.meaning, (name,))

    def node_goes(self, name: str) -> None:
        """What is on it holds nothing any more, and nobody looks for another place for it: that is not ours to do."""
        for known in self._on(name):
            self._forget(known)
        for known in self.by_id.values():
            if known.chosen == name and not known.node:
                known.chosen = ""  # the engine looks for another; if it is bound all the same, the watch will say so

    def _on(self, node: str) -> list[Known]:
        return [known for known in self.pods.values() if known.node == node]

    # --- what became of decisions ----------------------------------------------------------------------------

    def chose(self, task: TaskId, node: str) -> Known | None:
        """The engine put it there; None: it is nobody's any more."""
        known = self.by_id.get(task.workload)
        if known is not None:
            known.chosen = node
        return known

    def not_bound(self, known: Known, key: str) -> None:
        """What was chosen for it by that attempt did not come about."""
        if self.key(known) == key:
            known.chosen = ""
            if known.pod is not None:
                self.seen(known.pod)  # it, or what it means, may have changed meanwhile

    def stays(self, known: Known) -> None:
        """It was told to go, and may not be deleted: it is nobody's victim from now on, until it changes."""
        if known.node and known.meaning is not None:
            self._forget(known)
            firm = replace(known.meaning, terms=replace(known.meaning.terms, preemptible=False))
            self._arrive(known, firm, (known.node,))

    def waiting(self) -> Iterator[Known]:
        return (known for known in self.by_id.values() if known.waits)

    def read_again(self, *, with_claims: bool = False) -> None:
        """Namespaces, volumes, devices or pod groups have changed: pods that wait may mean something else now; or only
        those `with_claims`."""
        found = [*self.waiting(), *[self.pods[place] for place in self.held]]
        if with_claims:
            found = [known for known in found if known.pod is not None and _has_claims(known.pod)]
        self._read_again(found)

    def read_gang_again(self, gang: Place) -> None:
        self._read_again([known for known in self._of_gang.get(gang, {}).values() if known.waits])

    def read_places_again(self, places: Iterable[Place]) -> None:
        """Those of these pods that wait."""
        found = [known for place in sorted(places) if (known := self.pods.get(place)) is not None]
        self._read_again([known for known in found if known.waits or known.place in self.held])

    def _read_again(self, found: list[Known]) -> None:
        for known in found:
            if known.pod is not None:
                self.seen(known.pod)

    def gang(self, gang: Place) -> list[Known]:
        """Its pods that the engine knows."""
        return list(self._of_gang.get(gang, {}).values())

    def key(self, known: Known) -> str:
        task = TaskId(known.id, 0)
        work = self._engine.state.work.get(known.id)
        return attempt_key(task, 1 if work is None else work.task(0).attempt)

    # --- telling the engine ----------------------------------------------------------------------------------

    def _arrive(self, known: Known, meaning: PodMeaning, nodes: tuple[str, ...]) -> None:
        self._last += 1
        known.id = self._last
        self.by_id[known.id] = known
        # Two pods of one name, one of them about to be gone, are two workloads.
        name = f"{known.name}/{known.id}"
        since = seconds(known.since, self._now()) if nodes else None
        terms = meaning.terms
        if meaning.gang:
            gang = known.gang = known.namespace, meaning.gang
            self._of_gang.setdefault(gang, {})[known.id] = known
            self.gangs_stirred.add(gang)
            terms = _in_gang(terms, meaning.gang, known.least or 1)
        self._tell(WorkArrived(known.id, known.namespace, name, RANK, terms, nodes=nodes, since=since))

    def _forget(self, known: Known) -> None:
        """The engine has nothing of it any more."""
        if not known.id:
            return
        id_, held = known.id, bool(self._placed_on(known))
        key = self.key(known)
        del self.by_id[id_]
        if known.gang is not None:
            fellows = self._of_gang.get(known.gang, {})
            fellows.pop(id_, None)
            self.gangs_stirred.add(known.gang)
            if not fellows:
                self._of_gang.pop(known.gang, None)
        known.id, known.chosen, known.nominated = 0, "", ""
        self._tell(CancelAsked(id_, "gone"))
        if held:
            self._tell(TaskFinished(TaskId(id_, 0), key, None, "gone"))

    def _placed_on(self, known: Known) -> str:
        """Where the engine has it; a node that goes takes that along, though a binding may be under way."""
        cluster = self._engine.state.cluster
        placed = cluster.placements.by_task.get(TaskId(known.id, 0))
        return "" if placed is None else cluster.names[placed.row]

    def _tell(self, event: Event) -> None:
        self.commands += self._engine.handle(event, self._now())


def _has_claims(pod: Json) -> bool:
    return bool(claim_names(pod)) or claims_devices(pod)


@lru_cache(maxsize=4096)
def _in_gang(terms: Terms, gang: str, least: int) -> Terms:
    """Pods of a gang start together; what becomes of them afterwards is not ours to decide."""
    return replace(terms, group=gang, group_min=least, loose=True)
