"""Gangs for a scheduler that knows only single pods: the whole gang is planned once, and each pod gets its planned
node.

Guarantees: no pod of a gang gets a node before all pods that start together have one, arranged as the engine arranges
gangs. Their capacity is held (`held_pods`) until they are bound. A plan stays as long as it fits the cluster; after
that the pods that are not bound yet are planned again, near the others. Pods with equal requests may swap nodes, so
that the pod asked about gets a node that is offered to it.
Not guaranteed: kube-scheduler binds pods one by one. If a node fails while a gang is partly bound, the gang is
completed as well as possible; no pod is evicted for it.
"""

from collections import Counter
from collections.abc import Callable, Collection, Container
from typing import NamedTuple

from dovetail.engine.questions.pod_answers import GangStatus, GangTrial
from dovetail.engine.questions.pod_questions import PodQuestions
from dovetail.kubernetes.extender.held_pods import HeldPod, HeldPods, held_pod
from dovetail.kubernetes.scheduler.pod_conditions import incomplete
from dovetail.kubernetes.scheduler.pod_tracker import PodTracker
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.objects import NamespacedName

#: A planned node that was missing so often from what kube-scheduler offered is not planned for that gang again.
STRIKES = 3
_GANGS_REMEMBERED = 1000


class PlannedNode(NamedTuple):
    """The node for one pod, or why there is none (`whole_gang`: for the same reason for all its pods). Neither: its
    gang has started, and it may go anywhere."""

    node: str = ""
    why: str = ""
    whole_gang: bool = False


#: Told when a plan was made: the gang, and what is planned for whom.
OnPlan = Callable[[NamespacedName, list[HeldPod]], None]


class GangPlans:
    def __init__(
        self,
        questions: PodQuestions,
        tracker: PodTracker,
        held: HeldPods,
        on_plan: OnPlan,
        keep_s: float,
        now: Callable[[], float],
    ) -> None:
        self._questions, self._tracker, self._held = questions, tracker, held
        self._on_plan, self._keep_s, self._now = on_plan, keep_s, now
        self._missed: dict[NamespacedName, Counter[str]] = {}  # by gang: planned nodes that were not offered

    def node_for(self, known: TrackedPod, offered: Container[str]) -> PlannedNode:
        """The planned node for a pod of a gang, from the nodes that are offered to it."""
        gang, meaning = known.gang, known.meaning
        assert gang is not None
        assert meaning is not None
        group = self._questions.gang(*gang)
        if group is None:
            return PlannedNode(why="its gang is not known yet; asked again, it will be")
        mine = self._held.of_gang(gang).get(known.place)
        if mine is None and group.firm >= group.least:
            self._missed.pop(gang, None)
            return PlannedNode()
        if mine is None or self.lacks(gang, group) or not self._still_fits(gang, meaning.priority):
            refused = self._plan(gang, group, meaning.priority)
            if refused is not None:
                return refused
            mine = self._held.of_gang(gang).get(known.place)
        self._held.prolong(gang, self._now() + self._kept_s(gang))
        if mine is None:
            first = len(self._held.of_gang(gang))
            return PlannedNode(why=f"{first} others of its gang {gang[1]} start first; it may follow when they have")
        if mine.node not in offered and (mine.binding or not self._change_places(gang, mine, offered)):
            return self._missing(gang, mine.node)
        if gang in self._missed:
            # kube-scheduler offers single nodes now and then, such as the one it chose last, before it offers all.
            del self._missed[gang][mine.node]
        return PlannedNode(mine.node)

    def where(self, known: TrackedPod) -> str:
        """The planned node; empty: none."""
        kept = None if known.gang is None else self._held.of_gang(known.gang).get(known.place)
        return "" if kept is None else kept.node

    def may_start(self, known: TrackedPod) -> bool:
        """Would `node_for` find a plan for a gang that it refused? Nothing changes."""
        gang, meaning = known.gang, known.meaning
        assert gang is not None
        assert meaning is not None
        group = self._questions.gang(*gang)
        if group is None or self.lacks(gang, group):
            return False
        with self._held.counted(meaning.priority, but_gang=gang):
            return self.tried(gang, group).refusal is None

    def lacks(self, gang: NamespacedName, group: GangStatus) -> int:
        """How many more pods have to come before the gang can start; 0 once some of it has started."""
        return 0 if self._begun(gang, group) else max(0, group.least - len(self._waiting(gang, group)))

    def tried(
        self, gang: NamespacedName, group: GangStatus, only: Collection[str] = (), avoid: Collection[str] = ()
    ) -> GangTrial:
        """Tries all pending pods, or if they do not fit, as many as have to start together."""
        begun, everyone = self._begun(gang, group), self._waiting(gang, group)
        if not everyone:
            return GangTrial({})
        tried = self._questions.try_gang(everyone, self._now(), begun=begun, only=only, avoid=avoid)
        if tried.refusal is not None and not begun and len(everyone) > group.least:
            first = everyone[: group.least]
            tried = self._questions.try_gang(first, self._now(), begun=begun, only=only, avoid=avoid)
        return tried

    def _begun(self, gang: NamespacedName, group: GangStatus) -> bool:
        return bool(group.firm) or any(kept.binding for kept in self._held.of_gang(gang).values())

    def _waiting(self, gang: NamespacedName, group: GangStatus) -> list[int]:
        """Workloads of pending pods whose binding has not begun."""
        going = {place for place, kept in self._held.of_gang(gang).items() if kept.binding}
        known = self._tracker.by_id
        return [id_ for id_ in group.ready if id_ in known and known[id_].place not in going]

    # --- making a plan ---------------------------------------------------------------------------------------

    def _plan(self, gang: NamespacedName, group: GangStatus, priority: int) -> PlannedNode | None:
        """None: a plan was made and is held. Else why there is none."""
        self._held.drop_plan(gang)
        if self.lacks(gang, group):
            there = len(self._waiting(gang, group))
            return PlannedNode(why=incomplete(gang[1], there, group.least), whole_gang=True)
        with self._held.counted(priority, but_gang=gang):
            banned = [name for name, times in self._missed.get(gang, Counter()).items() if times >= STRIKES]
            tried = self.tried(gang, group, avoid=banned)
            if tried.refusal is not None and gang in self._missed:
                del self._missed[gang]
                tried = self.tried(gang, group)
        if tried.refusal is not None:
            # If some of it run already, as many of the others as find a node are better than none.
            return PlannedNode() if self._begun(gang, group) else PlannedNode(why=tried.refusal, whole_gang=True)
        now, until_s = self._now(), self._now() + self._kept_s(gang)
        made = [held_pod(self._tracker.by_id[id_], node, now, until_s, gang) for id_, node in tried.nodes.items()]
        for kept in made:
            self._held.keep(kept)
        self._on_plan(gang, made)
        return None

    # --- keeping to it ---------------------------------------------------------------------------------------

    def _still_fits(self, gang: NamespacedName, priority: int) -> bool:
        """Every node of the plan would take its pods, and has free capacity for all of them."""
        planned = [kept.assumed for kept in self._held.of_gang(gang).values() if not kept.binding]
        with self._held.counted(priority, but_gang=gang):
            return self._questions.all_fit(planned)

    def _change_places(self, gang: NamespacedName, mine: HeldPod, offered: Container[str]) -> bool:
        """Swaps nodes with a pending pod of equal requests whose planned node is offered."""
        for other in self._held.of_gang(gang).values():
            if other.pod == mine.pod and not other.binding and other.node in offered:
                mine.node, other.node = other.node, mine.node
                return True
        return False

    def _missing(self, gang: NamespacedName, node: str) -> PlannedNode:
        if len(self._missed) >= _GANGS_REMEMBERED:
            self._missed.clear()
        missed = self._missed.setdefault(gang, Counter())
        missed[node] += 1
        if missed[node] >= STRIKES:
            self._held.drop_plan(gang)
        return PlannedNode(why=f"its gang {gang[1]} is planned elsewhere: this pod on {node}, which was not offered")

    def _kept_s(self, gang: NamespacedName) -> float:
        """`scheduleTimeoutSeconds` of its PodGroup counts, as for the coscheduling plugin."""
        return self._tracker.gangs.timeout_s(gang) or self._keep_s
