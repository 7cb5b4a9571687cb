"""The filter and prioritize verbs: which nodes a pod may go to, and how good each of them is.

Guarantees: the engine's own filters and scores answer, on its own state, and nothing changes. Answers cover exactly the
nodes that were asked about; their cost does not grow with the number of refusals. Pods of a gang get the node of their
gang's plan (`gang_plans`). A pod is read as kube-scheduler sent it, which may be newer than the watch. Held capacity
counts as taken (`held_pods`).
Left to others: victims (`preempt_verb`) and binding (`bind_verb`).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dovetail.engine.engine import Engine
from dovetail.kubernetes.extender.gang_plans import GangPlans
from dovetail.kubernetes.extender.held_pods import HeldPods
from dovetail.kubernetes.extender.refused_pods import RefusedPods
from dovetail.kubernetes.extender.stale_refusals import RefusalKey, StaleRefusals
from dovetail.kubernetes.extender.wire import MOST_POINTS, ExtenderArgs, ExtenderFilterResult, HostPriority, NodeList
from dovetail.kubernetes.objects.annotations import AnnotationError
from dovetail.kubernetes.objects.gangs import no_such_group
from dovetail.kubernetes.objects.pods import PodMeaning, PodReader
from dovetail.kubernetes.scheduler.cluster_informer import ClusterInformer
from dovetail.kubernetes.scheduler.tracked_pod import TrackedPod
from dovetail.kubernetes_client.objects import Json, NamespacedName, namespaced_name

UNKNOWN_NODE = "Dovetail does not know this node yet"
#: The share of a profile's possible range of scores from which on the best and the worst node get 10 and 0 points.
_WORTH_ALL = 0.1


class UnreadablePod(Exception):
    """The pod cannot be read; says why."""


class AskedPod(NamedTuple):
    """A pod that kube-scheduler asks about, and what it means."""

    place: NamespacedName
    uid: str
    meaning: PodMeaning


class FilterVerb:
    def __init__(
        self,
        engine: Engine,
        informer: ClusterInformer,
        readers: Mapping[str, PodReader],
        keep_s: float,
        refused_pods: RefusedPods,
        now: Callable[[], float],
    ) -> None:
        self._engine, self._informer, self._readers = engine, informer, readers
        self._tracker, self._now, self._refused_pods = informer.tracker, now, refused_pods
        self._questions = informer.questions.pods
        self.held = HeldPods(self._questions, self._tracker)
        self.plans = GangPlans(self._questions, self._tracker, self.held, refused_pods.planned, keep_s, now)
        self.stale_refusals = StaleRefusals(lambda: informer.reports, self._passes, self._passes_now, now)

    # --- reading ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Applies what the watches reported, and drops results that only a deciding engine needs."""
        self._informer.read_again()
        now = self._now()
        if self.held.settle(now):
            self._refused_pods.capacity_freed()
        self._tracker.commands.clear()
        self._tracker.changed_gangs.clear()
        self._tracker.take_held()
        self._engine.take_decisions()

    def read(self, pod: Json) -> AskedPod:
        """Raises UnreadablePod."""
        reader = self._readers.get(pod["spec"].get("schedulerName")) or next(iter(self._readers.values()))
        try:
            meaning = reader.read(pod)
        except AnnotationError as error:
            raise UnreadablePod(str(error)) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise UnreadablePod(f"cannot be read as a pod: {type(error).__name__}: {error}") from None
        return AskedPod(namespaced_name(pod), pod["metadata"]["uid"], meaning)

    def known(self, asked: AskedPod) -> TrackedPod | None:
        """The pod as the watch reported it, if it is pending."""
        known = self._tracker.pods.get(asked.place)
        return known if known is not None and known.uid == asked.uid and known.id else None

    # --- filter ----------------------------------------------------------------------------------------------

    def filter(self, args: ExtenderArgs) -> ExtenderFilterResult:
        self.refresh()
        names = args.names
        try:
            asked = self.read(args.pod)
        except UnreadablePod as error:
            return _answer(args, (), {}, dict.fromkeys(names, str(error)))
        if asked.meaning.gang:
            why, node = self._gang(asked, args)
            if why:
                return _answer(args, (), {}, dict.fromkeys(names, why))
            if node:
                # No eviction would make another node the planned one.
                words = f"its gang {asked.meaning.gang} is planned elsewhere: this pod on {node}"
                return _answer(args, (node,), {}, {name: words for name in names if name != node})
        return self._each(args, asked)

    def _gang(self, asked: AskedPod, args: ExtenderArgs) -> tuple[str, str]:
        """Why the pod has to wait, and its planned node; both empty: it may go by itself."""
        gang, itself = self._gang_of(asked), RefusalKey(asked.place)
        known = self._known_of_gang(asked)
        if known is None:
            self.stale_refusals.add(itself, args)
            return self._why_unknown(asked), ""
        self.stale_refusals.drop(itself)
        planned = self.plans.node_for(known, set(args.names))
        if planned.why:
            self._refused_pods.refused(asked.place, asked.uid, planned.why)
            if planned.whole_gang:
                self._refused_pods.gang_refused(gang, planned.why)
                self.stale_refusals.add(RefusalKey(gang, is_gang=True), args)
        else:
            self._refused_pods.accepted(asked.place)
            self.stale_refusals.drop(RefusalKey(gang, is_gang=True))
        return planned.why, planned.node

    @staticmethod
    def _gang_of(asked: AskedPod) -> NamespacedName:
        return asked.place[0], asked.meaning.gang

    def _known_of_gang(self, asked: AskedPod) -> TrackedPod | None:
        """A pod of a gang as the watch reported it, if its gang is known too."""
        known = self.known(asked)
        if known is None or known.gang is None or known.meaning is None:
            return None
        return None if self._tracker.gangs.least(self._gang_of(asked), asked.meaning.gang_min) is None else known

    def _why_unknown(self, asked: AskedPod) -> str:
        if self._tracker.gangs.least(self._gang_of(asked), asked.meaning.gang_min) is None:
            return no_such_group(asked.meaning.gang)
        told = self._tracker.pods.get(asked.place)
        if told is not None and told.scheduler not in self._readers:
            return f"it is of a gang, and {told.scheduler} is not among the names that this extender serves"
        return "it is of a gang, and the watch has not reported this pod yet"

    def _each(self, args: ExtenderArgs, asked: AskedPod) -> ExtenderFilterResult:
        with self.held.counted(asked.meaning.priority, but=asked.place):
            found = self._questions.feasibility(asked.meaning.query, args.names)
        helped: dict[str, str] = {}
        never = dict.fromkeys(found.unknown, UNKNOWN_NODE)
        for refused in found.refused:
            (helped if refused.eviction_helps else never).update(dict.fromkeys(refused.nodes, refused.message))
        if found.feasible:
            self.stale_refusals.drop(RefusalKey(asked.place))
        else:
            self.stale_refusals.add(RefusalKey(asked.place), args)
            if len(self.held):
                self._refused_pods.refused(asked.place, asked.uid, "")
        return _answer(args, found.feasible, helped, never)

    # --- refused on an old view --------------------------------------------------------------------------------

    def _passes(self, key: RefusalKey, args: ExtenderArgs) -> bool:
        """Would a plan be found for the gang, or a node be allowed for the pod? Nothing changes."""
        try:
            asked = self.read(args.pod)
        except UnreadablePod:
            return False
        known = self._known_of_gang(asked) if asked.meaning.gang else None
        if asked.meaning.gang and known is None:
            return False
        if key.is_gang and known is not None:
            return self.plans.may_start(known)
        with self.held.counted(asked.meaning.priority, but=asked.place):
            return bool(self._questions.feasibility(asked.meaning.query, args.names).feasible)

    def _passes_now(self, key: RefusalKey, args: ExtenderArgs) -> None:
        if key.is_gang:
            self._refused_pods.gang_passes_now(key.place)
        else:
            self._refused_pods.passes_now(key.place, args.pod["metadata"]["uid"])

    # --- prioritize ------------------------------------------------------------------------------------------

    def prioritize(self, args: ExtenderArgs) -> list[HostPriority]:
        """Raises UnreadablePod."""
        self.refresh()
        names = args.names
        asked = self.read(args.pod)
        known = self.known(asked)
        planned = self.plans.where(known) if known is not None and asked.meaning.gang else ""
        if planned:
            return [HostPriority(Host=name, Score=MOST_POINTS * (name == planned)) for name in names]
        with self.held.counted(asked.meaning.priority, but=asked.place):
            scored = self._questions.scores(asked.meaning.query, names)
        points = scaled(np.array(list(scored.totals.values())), scored.weights).astype(np.int64).tolist()
        by_node = dict(zip(scored.totals, points, strict=True))
        return [{"Host": name, "Score": by_node.get(name, 0)} for name in names]


def scaled(total: NDArray[np.float64], weights: list[float]) -> NDArray[np.float64]:
    """Points from 0 to 10: the best node gets 10; the worst gets 0 if they differ by at least a tenth of what the
    scores can reach."""
    if not len(total):
        return total
    whole = sum(abs(weight) for weight in weights)
    best = float(total.max())
    span = max(best - float(total.min()), _WORTH_ALL * whole)
    behind = (best - total) / span if span > 0 else np.zeros(len(total))
    found: NDArray[np.float64] = np.rint(MOST_POINTS * (1.0 - behind))
    return found


def _answer(
    args: ExtenderArgs, passed: Iterable[str], failed: dict[str, str], never: dict[str, str]
) -> ExtenderFilterResult:
    """In the form in which the nodes were given."""
    result = ExtenderFilterResult.model_construct(failed_nodes=failed, failed_and_unresolvable_nodes=never)
    if args.node_names is not None or args.nodes is None:
        result.node_names = list(passed)
    else:
        wanted = set(passed)
        kept = [node for node, name in zip(args.nodes.items or (), args.names, strict=True) if name in wanted]
        result.nodes = NodeList.model_construct(items=kept)
    return result
