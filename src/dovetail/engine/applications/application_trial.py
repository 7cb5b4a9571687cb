"""Where the tasks of an application would go together: searched over arrays, then tried through the real pipelines.

Three steps, each of which leaves no trace: the tasks one by one, as they would go without this; the search, which
starts from there and is never worse; and a trial of what was found, in which filters may refuse single nodes.
Guarantees: nothing is changed. The result places at least as many tasks as one by one, and costs no more (Σ traffic ×
distance) where it places as many.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.engine.applications.arrays import ApplicationArrays, arrays_of
from dovetail.engine.applications.parts import ApplicationPart
from dovetail.engine.gangs.group_trial import GroupTrial, place_choices
from dovetail.engine.pieces import Pieces
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.task import TaskId
from dovetail.placement.applications.problem import is_valid
from dovetail.placement.applications.search import solve_in_pieces, usual_effort
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.pipeline import WITH_APPLICATION, Choice, Pipeline

#: The search for one task costs about as much as so many decisions, besides the steps of the search.
_DECISIONS_A_TASK, _DECISIONS_A_STEP = 4, 4

Decide = Callable[[Pipeline, Request, TaskId, int], Choice]


@dataclass(frozen=True, slots=True)
class ApplicationPlan:
    """A choice for each task of each part, in order of replica: with a row, or with the reason why there is none; None
    for tasks after such a one. Costs in Mbps ×
    distance, and per Mbps: the mean distance that data travels. `improves`: on placing the tasks one by one."""

    choices: list[list[Choice | None]]
    improves: bool = False
    cost: float = 0.0
    one_by_one_cost: float = 0.0
    traffic_mbps: float = 0.0

    @property
    def note(self) -> str:
        """`placed with its application of 5 workloads: their traffic travels a mean distance of 12; …`"""
        mean, before = self.cost / self.traffic_mbps, self.one_by_one_cost / self.traffic_mbps
        return (
            f"placed with its application of {len(self.choices)} workloads: "
            f"their traffic travels a mean distance of {mean:.3g}; placed one by one it would be {before:.3g}"
        )


def try_application(
    state: EngineState, parts: list[ApplicationPart], naming: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Pieces[ApplicationPlan | None]:
    """None: no task finds a node. `naming`: makes workloads that are not live known by name while they are tried."""
    with naming():
        greedy = _one_by_one(state, parts)
        rows = _rows(greedy)
        found = arrays_of(state, parts, rows)
    state.requests.effort += _DECISIONS_A_TASK * len(rows)
    if found is None:
        return None
    yield
    node_of = yield from _searched(state, found, rows)
    if node_of is None:
        return ApplicationPlan(greedy)
    with naming():
        choices = _on_nodes(state, parts, found, node_of)
    reached = _rows(choices)
    after = found.nodes_at(reached)
    before, cost = found.problem.cost(found.nodes_at(rows)), found.problem.cost(after)
    # A task whose node was refused may be where the search did not look.
    is_known = not (after[reached >= 0] < 0).any()
    if not is_known or (int((reached < 0).sum()), cost) >= (int((rows < 0).sum()), before):
        return ApplicationPlan(greedy)
    return ApplicationPlan(choices, True, cost, before, found.traffic_mbps)


def _searched(state: EngineState, found: ApplicationArrays, one_by_one: Rows) -> Pieces[Rows | None]:
    """The node of each task; None where one by one cannot be improved."""
    problem = found.problem
    known = found.nodes_at(one_by_one)
    if found.traffic_mbps <= 0.0 or (not (one_by_one < 0).any() and problem.cost(known) <= 0.0):
        return None
    state.requests.effort += _DECISIONS_A_STEP * usual_effort(problem.tasks)
    # What is known counts without what the profile favours: that decides among equals only.
    favoured = problem.with_pull(problem.pull + found.favour)
    good_enough = float(found.favour.max(axis=1).sum())
    best = yield from solve_in_pieces(favoured, state.settings.seed, good_enough=good_enough)
    if is_valid(problem, known):
        missing, missed = int((best.node_of < 0).sum()), int((known < 0).sum())
        if missing > missed or (missing == missed and problem.cost(best.node_of) >= problem.cost(known)):
            return None
    return best.node_of


def _one_by_one(state: EngineState, parts: list[ApplicationPart]) -> list[list[Choice | None]]:
    """As the tasks go without this: each on its best node, given those before it."""

    def decide(pipeline: Pipeline, request: Request, task: TaskId, repeats: int) -> Choice:
        return pipeline.decide(request, str(task), repeats=repeats > 1)

    return _tried(state, [part.trial for part in parts], lambda _: decide)


def _on_nodes(
    state: EngineState, parts: list[ApplicationPart], found: ApplicationArrays, node_of: Rows
) -> list[list[Choice | None]]:
    """Each on the node that was found, or, where filters refuse it, on its best one."""

    def on_nodes_of(index: int) -> Decide:
        nodes = iter(_evenly(found, index, node_of[found.part_of == index]))

        def decide(pipeline: Pipeline, request: Request, task: TaskId, repeats: int) -> Choice:
            node = next(nodes)
            row = int(found.rows[node])
            choice = None if node < 0 else pipeline.decide_at(request, row, WITH_APPLICATION)
            return choice or pipeline.decide(request, str(task), repeats=repeats > 1)

        return decide

    return _tried(state, [part.trial for part in parts], on_nodes_of)


def _tried(state: EngineState, trials: list[GroupTrial], how: Callable[[int], Decide]) -> list[list[Choice | None]]:
    """Place all tasks in a trial. After a task that finds no node, the others of its workload are left out."""
    cursors = {name: pipeline.cursor for name, pipeline in state.pipelines.items()}
    found: list[list[Choice | None]] = []
    with state.cluster.trial():
        for index, part in enumerate(trials):
            pipeline, request, decide = state.pipelines[part.subject.shape.profile], part.request(), how(index)
            choices: list[Choice | None] = []
            for replica in part.replicas:
                choice = decide(pipeline, request, TaskId(part.subject.id, replica), len(part.replicas))
                if choice.row is None:
                    choices.append(choice)
                    break
                choices += place_choices(state, part._replace(replicas=[replica]), request, [choice])
                pipeline.placed(request, choice.row)
            found.append(choices + [None] * (len(part.replicas) - len(choices)))
    for name, cursor in cursors.items():
        state.pipelines[name].cursor = cursor
    return found


def _evenly(found: ApplicationArrays, index: int, nodes: Rows) -> list[int]:
    """The nodes of one workload's tasks in an order that keeps its spread at every step: one task of each domain, then
    the second of each. Its tasks are alike, so any of them may have any of the nodes."""
    own = np.flatnonzero(found.part_of == index)
    evened = [limit for limit in found.problem.limits if np.isfinite(limit.max_skew)]
    spread = [limit for limit in evened if np.array_equal(limit.tasks, own)]
    placed = sorted(nodes[nodes >= 0].tolist())
    if spread:
        held = spread[0].already.copy()
        turns = []
        for node in placed:
            domain = spread[0].domains[node]
            turns.append((held[domain], node))
            held[domain] += 1
        placed = [node for _, node in sorted(turns)]
    return placed + [-1] * int((nodes < 0).sum())


def _rows(choices: list[list[Choice | None]]) -> Rows:
    """intp[task]: -1 for no node."""
    flat = [one for part in choices for one in part]
    return np.array([-1 if one is None or one.row is None else one.row for one in flat], dtype=np.intp)
