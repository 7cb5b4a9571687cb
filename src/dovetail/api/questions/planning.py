"""Plans: where work would go, and what keeps it from being placed. The engine that schedules answers."""

import time
from dataclasses import asdict
from functools import partial
from typing import cast

from dovetail.api.questions import sentences
from dovetail.control.plane import ControlPlane
from dovetail.engine.pieces import IsSpent, Pieces
from dovetail.engine.questions.plan_questions import Displacement, Impasse, PlannedTask
from dovetail.model.reason import Explanation, Outcome
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.workloads.workload import Workload
from dovetail.placement.network_cost.communication import Estimate
from dovetail.responses.questions import (
    CoreRequirement,
    DecisionExplanation,
    PlacementBlockers,
    PlanAnswer,
    PlannedCommunication,
    PlannedPlace,
    PlannedPreemption,
)

MOST_WORKLOADS = 500  # of one plan: each is scheduled in a trial
USUAL_TASKS = 1000  # of one workload
MOST_TASKS = 100_000  # of one workload, if asked for
MOST_DISPLACING = 20  # workloads of one plan for which preemption is tried, which takes longer than placing
#: Nothing blocks it, or nothing that could be changed.
NO_IMPASSE = Impasse((), True, "", ())


async def plans(plane: ControlPlane, specs: list[Workload], most_tasks: int = USUAL_TASKS) -> list[PlanAnswer]:
    """Each workload by itself, on the cluster as it is when its turn comes; those that start together or exchange
    traffic together. `most_tasks`: so many of each are tried."""
    if len(specs) > MOST_WORKLOADS:
        words = f"{len(specs)} workloads; a plan takes at most {MOST_WORKLOADS} at once"
        raise Invalid([Complaint("request body", None, "", words)])
    found: list[PlanAnswer] = []
    searches = MOST_DISPLACING
    together = await _groups(plane, specs, most_tasks) | await _applications(plane, specs, most_tasks)
    for spec in specs:
        tasks = together.get((spec.namespace, spec.name))
        plan = await plane.ask(partial(_plan, plane, spec, tasks, most_tasks, searches > 0))
        searches -= bool(plan["unplaced"])
        found.append(plan)
    return found


async def _groups(
    plane: ControlPlane, specs: list[Workload], most_tasks: int
) -> dict[tuple[str, str], list[PlannedTask]]:
    """The tasks of workloads that start together with others here."""
    members: dict[tuple[str, str], list[Workload]] = {}
    for spec in specs:
        if spec.gang is not None and spec.gang.group is not None:
            members.setdefault((spec.namespace, spec.gang.group), []).append(spec)
    found: dict[tuple[str, str], list[PlannedTask]] = {}
    for group in members.values():
        planned = await plane.ask(partial(_plan_group, plane, group, most_tasks))
        found |= {(spec.namespace, spec.name): tasks for spec, tasks in zip(group, planned, strict=True)}
    return found


async def _applications(
    plane: ControlPlane, specs: list[Workload], most_tasks: int
) -> dict[tuple[str, str], list[PlannedTask]]:
    """The tasks of workloads that exchange traffic with others here."""
    if len(specs) < 2 or not any(spec.traffic for spec in specs):
        return {}
    return await plane.ask(partial(_plan_applications, plane, specs, most_tasks))


def _plan_applications(
    plane: ControlPlane, specs: list[Workload], most_tasks: int, _: IsSpent
) -> Pieces[dict[tuple[str, str], list[PlannedTask]]]:
    return plane.questions.plans.plan_applications(specs, most_tasks, time.time())


def _plan_group(
    plane: ControlPlane, group: list[Workload], most_tasks: int, _: IsSpent
) -> Pieces[list[list[PlannedTask]]]:
    return plane.questions.plans.plan_group(group, most_tasks, time.time())


def _plan(
    plane: ControlPlane,
    spec: Workload,
    tasks: list[PlannedTask] | None,
    most_tasks: int,
    may_search: bool,
    is_spent: IsSpent,
) -> Pieces[PlanAnswer]:
    now = time.time()
    if tasks is None:
        tasks = yield from plane.questions.plans.plan(spec, most_tasks, now, is_spent)
    elif tasks[-1].node is None:
        may_search = False  # what blocks the group is not what would block this member alone
    placed = sum(task.node is not None for task in tasks)
    last = tasks[-1]
    wanted = min(spec.replicas, spec.concurrency or spec.replicas)
    over_quota = last.node is None and last.explanation.outcome == Outcome.OVER_QUOTA
    displaced = None
    impasse = NO_IMPASSE
    if last.node is None and may_search:
        displaced = None if over_quota else (yield from plane.questions.plans.would_displace(spec, now))
        impasse = yield from plane.questions.plans.impasse(spec, -1, now)
    talk = plane.questions.plans.communication(tasks) if spec.gang is not None and last.node is not None else None
    market = yield from plane.questions.plans.market(spec, tasks, now)
    return {
        "name": spec.name,
        "namespace": spec.namespace,
        "tasks": [
            {"replica": task.replica, "node": task.node, "explanation": explanation_of(task.explanation)}
            for task in tasks
        ],
        "placed": placed,
        "unplaced": wanted - placed if last.node is None else 0,
        "queue": plane.questions.queues.path(spec),
        "over_quota": last.explanation.message if over_quota else None,
        "displaces": None if displaced is None else planned_preemption(displaced),
        "communication": None if talk is None else _communication(talk),
        "planned_at": now,
        "market": [cast("PlannedPlace", asdict(one)) for one in market],
        **blocker_fields(impasse),
        "answer": sentences.planned(spec, tasks, displaced, impasse),
    }


def explanation_of(explanation: Explanation) -> DecisionExplanation:
    return cast("DecisionExplanation", explanation.to_dict())


def blocker_fields(found: Impasse) -> PlacementBlockers:
    return {
        "core": [cast("CoreRequirement", asdict(member)) for member in found.core],
        "core_exact": found.core_exact,
        "waits_for": found.waits_for,
        "suggestions": [
            {"words": one.words, "kind": one.kind, "patch": one.patch, "action": one.action}
            for one in found.suggestions
        ],
    }


def _communication(talk: Estimate) -> PlannedCommunication:
    return {
        "ranks": talk.ranks,
        "nodes": talk.nodes,
        "size_bytes": talk.size_bytes,
        "all_reduce_s": round(talk.all_reduce.seconds, 9),
        "all_reduce_best_s": round(talk.all_reduce.best_seconds, 9),
        "algorithm": talk.all_reduce.algorithm,
        "all_to_all_s": round(talk.all_to_all.seconds, 9),
        "all_to_all_best_s": round(talk.all_to_all.best_seconds, 9),
        "busiest": talk.all_reduce.busiest,
        "message": str(talk),
    }


def planned_preemption(found: Displacement) -> PlannedPreemption:
    return {
        "tasks": found.tasks,
        "victims": [
            {
                "workload": victim.task.workload,
                "replica": victim.task.replica,
                "namespace": victim.namespace,
                "name": victim.name,
                "priority": victim.priority,
                "node": victim.node,
                "lost_s": round(victim.lost_s, 3),
            }
            for victim in found.victims
        ],
    }
