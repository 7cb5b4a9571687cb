"""What to answer kube-scheduler: which of its nodes a pod may go to, and how good each of them is.

Guarantees: the engine's own filters and scores decide, on its own state, and the engine is left as it is. Answers are
about the nodes that were asked about and no others; what they cost does not depend on how many nodes refuse. Pods of a
gang are sent to the node that their gang's plan has for them (`gang_plans`). A pod is read as kube-scheduler sent it,
which may be newer than what the watch has told. Room that is spoken for counts (`keeping`).
Left to others: victims (`preempting`), and binding.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.views.view import View
from dovetail.engine.engine import Engine
from dovetail.kubernetes.annotations import AnnotationError
from dovetail.kubernetes.extender.gang_plans import GangPlans
from dovetail.kubernetes.extender.keeping import Keeping
from dovetail.kubernetes.extender.put_aside import PutAside
from dovetail.kubernetes.extender.reasons import refusals_of
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes.extender.wire import MOST_POINTS, ExtenderArgs, ExtenderFilterResult, HostPriority, NodeList
from dovetail.kubernetes.gangs import no_such_group
from dovetail.kubernetes.pods import PodMeaning, PodReader
from dovetail.kubernetes.scheduler.following import Following
from dovetail.kubernetes.scheduler.known import Known, Place
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator

Json = Mapping[str, Any]
UNKNOWN_NODE = "Dovetail does not know this node yet"
#: Nodes that differ by less than this share of what a profile's scores can make are told apart by less than all points.
_WORTH_ALL = 0.1


class Unreadable(Exception):
    """A pod that no sense can be made of; says why."""


class Asked(NamedTuple):
    """A pod, what it means, and what there is to ask nodes about it."""

    place: Place
    uid: str
    meaning: PodMeaning
    request: Request
    evaluator: Evaluator


class Deciding:
    def __init__(
        self,
        engine: Engine,
        following: Following,
        readers: Mapping[str, PodReader],
        settings: KubernetesExtenderSettings,
        put_aside: PutAside,
        now: Callable[[], float],
    ) -> None:
        self._engine, self._following, self._readers = engine, following, readers
        self._ledger, self._now, self._put_aside = following.ledger, now, put_aside
        self.keeping = Keeping(engine, self._ledger)
        self.plans = GangPlans(engine, self._ledger, self.keeping, put_aside.planned, settings.keep_plan_s, now)

    # --- reading ---------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """What has come in since is taken note of; what an engine that never decides has no use for is let go."""
        self._following.read_again()
        now = self._now()
        if self.keeping.settle(now):
            self._put_aside.room_is_free()
        self._ledger.commands.clear()
        self._ledger.gangs_stirred.clear()
        self._ledger.take_held()
        self._engine.take_decisions()
        self._engine.state.cluster.trim_log()

    def read(self, pod: Json) -> Asked:
        """Raises Unreadable."""
        about = pod["metadata"]
        scheduler = pod["spec"].get("schedulerName")
        reader = self._readers.get(scheduler) or next(iter(self._readers.values()))
        try:
            meaning = reader.read(pod)
        except AnnotationError as error:
            raise Unreadable(str(error)) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise Unreadable(f"cannot be read as a pod: {type(error).__name__}: {error}") from None
        return self._asked((about["namespace"], about["name"]), about["uid"], meaning)

    def ask_again(self, asked: Asked) -> Asked:
        """The same where others have come or gone since, such as in a trial."""
        return self._asked(asked.place, asked.uid, asked.meaning)

    def _asked(self, place: Place, uid: str, meaning: PodMeaning) -> Asked:
        state, shape = self._engine.state, meaning.terms.shape
        pipeline = state.pipelines[shape.profile]
        request = pipeline.for_task(state.asked(shape, meaning.identity), 0, 1)
        return Asked(place, uid, meaning, request, pipeline.evaluator)

    def known(self, asked: Asked) -> Known | None:
        """The pod as the watch has told of it, where it waits."""
        known = self._ledger.pods.get(asked.place)
        return known if known is not None and known.uid == asked.uid and known.id else None

    # --- filter ----------------------------------------------------------------------------------------------

    def filter(self, args: ExtenderArgs) -> ExtenderFilterResult:
        self.refresh()
        names = args.names
        try:
            asked = self.read(args.pod)
        except Unreadable as error:
            return _answer(args, (), {}, dict.fromkeys(names, str(error)))
        if asked.meaning.gang:
            why, node = self._gang(asked, names)
            if why:
                return _answer(args, (), {}, dict.fromkeys(names, why))
            if node:
                return self._only(args, asked, node)
        return self._each(args, asked)

    def _gang(self, asked: Asked, names: list[str]) -> tuple[str, str]:
        """Why it has to wait, or where it goes; neither: by itself."""
        gang = asked.place[0], asked.meaning.gang
        if self._ledger.gangs.least(gang, asked.meaning.gang_min) is None:
            return no_such_group(asked.meaning.gang), ""
        known = self.known(asked)
        if known is None or known.gang is None or known.meaning is None:
            told = self._ledger.pods.get(asked.place)
            if told is not None and told.scheduler not in self._readers:
                return f"it is of a gang, and {told.scheduler} is not among the names that this extender serves", ""
            return "it is of a gang, and the watch has not told of this pod yet", ""
        planned = self.plans.node_for(known, set(names))
        if planned.why:
            self._put_aside.refused(asked.place, asked.uid, planned.why)
            if planned.whole_gang:
                self._put_aside.gang_refused(gang, planned.why)
        else:
            self._put_aside.release_spares(asked.place)
        return planned.why, planned.node

    def _only(self, args: ExtenderArgs, asked: Asked, node: str) -> ExtenderFilterResult:
        words = f"its gang {asked.meaning.gang} is planned elsewhere: this pod on {node}"
        # Nobody's going would make any of these the planned one.
        return _answer(args, (node,), {}, {name: words for name in args.names if name != node})

    def _each(self, args: ExtenderArgs, asked: Asked) -> ExtenderFilterResult:
        names = args.names
        rows, unknown = self._rows(names)
        never = {names[i]: UNKNOWN_NODE for i in unknown}
        here = [name for name in names if name not in never] if never else names
        helped: dict[str, str] = {}
        with self.keeping.counted(asked.meaning.priority, but=asked.place):
            asked = self.ask_again(asked) if len(self.keeping) else asked
            view = View(self._engine.state.cluster).subset(rows)
            filtered = asked.evaluator.run_filters(asked.request, view)
            for refusal in refusals_of(asked.request, asked.evaluator, view, filtered):
                said = helped if refusal.helps else never
                said.update(dict.fromkeys([here[i] for i in refusal.positions.tolist()], refusal.message))
        alive = np.flatnonzero(filtered.alive).tolist()
        if not alive and len(self.keeping):
            self._put_aside.refused(asked.place, asked.uid, "")
        return _answer(args, here if len(alive) == len(names) else [here[i] for i in alive], helped, never)

    def _rows(self, names: list[str]) -> tuple[Rows, list[int]]:
        """Of the nodes that we know; and where in the list those are that we do not."""
        rows = self._engine.state.cluster.rows
        found = [rows.get(name, -1) for name in names]
        unknown = [i for i, row in enumerate(found) if row < 0]
        return np.array([row for row in found if row >= 0] if unknown else found, dtype=np.intp), unknown

    # --- prioritize ------------------------------------------------------------------------------------------

    def prioritize(self, args: ExtenderArgs) -> list[HostPriority]:
        """Raises Unreadable."""
        self.refresh()
        names = args.names
        asked = self.read(args.pod)
        known = self.known(asked)
        planned = self.plans.where(known) if known is not None and asked.meaning.gang else ""
        if planned:
            return [HostPriority(Host=name, Score=MOST_POINTS * (name == planned)) for name in names]
        rows, unknown = self._rows(names)
        with self.keeping.counted(asked.meaning.priority, but=asked.place):
            asked = self.ask_again(asked) if len(self.keeping) else asked
            scored = asked.evaluator.score(asked.request, View(self._engine.state.cluster).subset(rows))
            points = scaled(scored.total, asked.evaluator.weights).astype(np.int64).tolist()
        for i in unknown:
            points.insert(i, 0)
        return [{"Host": name, "Score": score} for name, score in zip(names, points, strict=True)]


def scaled(total: F8, weights: list[float]) -> F8:
    """0 to 10: the best node gets 10, the worst 0 if they differ by a tenth of what the scores can make, or more."""
    if not len(total):
        return total
    whole = sum(abs(weight) for weight in weights)
    best = float(total.max())
    span = max(best - float(total.min()), _WORTH_ALL * whole)
    behind: F8 = (best - total) / span if span > 0 else np.zeros(len(total))
    found: F8 = np.rint(MOST_POINTS * (1.0 - behind))
    return found


def _answer(
    args: ExtenderArgs, passed: Iterable[str], failed: dict[str, str], never: dict[str, str]
) -> ExtenderFilterResult:
    """In the form in which nodes were given."""
    if args.node_names is not None or args.nodes is None:
        return ExtenderFilterResult.model_construct(
            node_names=list(passed), failed_nodes=failed, failed_and_unresolvable_nodes=never
        )
    wanted = set(passed)
    kept = [node for node, name in zip(args.nodes.items or (), args.names, strict=True) if name in wanted]
    nodes = NodeList.model_construct(items=kept)
    return ExtenderFilterResult.model_construct(nodes=nodes, failed_nodes=failed, failed_and_unresolvable_nodes=never)
