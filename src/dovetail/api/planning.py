"""Plans: where work would go, asked of the same engine that decides, with the same checks that a submission gets."""

import time
from functools import partial
from typing import Any

from dovetail.api import answers
from dovetail.api.impasse import NO_IMPASSE, impasse_dict
from dovetail.control.plane import ControlPlane
from dovetail.engine.lifecycle.dependencies import Key, key_of
from dovetail.engine.pieces import IsSpent, Pieces
from dovetail.engine.planning.plan import Displacement, PlannedTask
from dovetail.model.reason import Outcome
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.workloads.workload import Workload
from dovetail.placement.network_cost.communication import Estimate

MOST_WORKLOADS = 500  # of one plan: each is decided for real
MOST_TASKS = 1000  # of one workload
MOST_DISPLACING = 20  # workloads of one plan for which victims are sought, which takes longer than deciding


def check(plane: ControlPlane, specs: list[Workload]) -> None:
    """Raises Invalid: unknown profile, scheduler or queue, too many replicas, workloads that wait for each other."""
    plane.check(specs)


async def plans(plane: ControlPlane, specs: list[Workload]) -> list[dict[str, Any]]:
    """Each workload by itself, on the cluster as it is when it is looked at."""
    if len(specs) > MOST_WORKLOADS:
        words = f"{len(specs)} workloads; a plan takes at most {MOST_WORKLOADS} at once"
        raise Invalid([Complaint("request body", None, "", words)])
    found: list[dict[str, Any]] = []
    searches = MOST_DISPLACING
    together = await _groups(plane, specs)
    for spec in specs:
        plan = await plane.ask(partial(_plan, plane, spec, together.get(key_of(spec)), searches > 0))
        searches -= bool(plan["unplaced"])
        found.append(plan)
    return found


async def _groups(plane: ControlPlane, specs: list[Workload]) -> dict[Key, list[PlannedTask]]:
    """The tasks of workloads that start together with others here."""
    members: dict[tuple[str, str], list[Workload]] = {}
    for spec in specs:
        if spec.gang is not None and spec.gang.group is not None:
            members.setdefault((spec.namespace, spec.gang.group), []).append(spec)
    found: dict[Key, list[PlannedTask]] = {}
    for group in members.values():
        planned = await plane.ask(partial(_plan_group, plane, group))
        found |= {key_of(spec): tasks for spec, tasks in zip(group, planned, strict=True)}
    return found


def _plan_group(plane: ControlPlane, group: list[Workload], _: IsSpent) -> Pieces[list[list[PlannedTask]]]:
    return plane.questions.plan_group_pieces(group, MOST_TASKS, time.time())


def _plan(
    plane: ControlPlane, spec: Workload, tasks: list[PlannedTask] | None, may_search: bool, is_spent: IsSpent
) -> Pieces[dict[str, Any]]:
    now = time.time()
    if tasks is None:
        tasks = yield from plane.questions.plan_pieces(spec, MOST_TASKS, now, is_spent)
    elif tasks[-1].node is None:
        may_search = False  # what is in the way of one of several is not what is in the way of it alone
    placed = sum(task.node is not None for task in tasks)
    last = tasks[-1]
    wanted = min(spec.replicas, spec.concurrency or spec.replicas)
    over_quota = last.node is None and last.explanation.outcome == Outcome.OVER_QUOTA
    displaced = None
    impasse = NO_IMPASSE
    if last.node is None and may_search:
        displaced = None if over_quota else (yield from plane.questions.would_displace_pieces(spec, now))
        impasse = yield from plane.questions.impasse_pieces(spec, -1, now)
    talk = plane.questions.communication(tasks) if spec.gang is not None and last.node is not None else None
    return {
        "name": spec.name,
        "namespace": spec.namespace,
        "tasks": [
            {"replica": task.replica, "node": task.node, "explanation": task.explanation.to_dict()} for task in tasks
        ],
        "placed": placed,
        "unplaced": wanted - placed if last.node is None else 0,
        "queue": _queue(plane, spec),
        "over_quota": last.explanation.message if over_quota else None,
        "displaces": None if displaced is None else _displaced(displaced),
        "communication": None if talk is None else _communication(talk),
        **impasse_dict(impasse),
        "answer": answers.planned(spec, tasks, displaced, impasse),
    }


def _queue(plane: ControlPlane, spec: Workload) -> str:
    router = plane.engine.state.router
    return router.queues[router.queue(spec.queue, spec.namespace)].path


def _communication(talk: Estimate) -> dict[str, Any]:
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


def _displaced(displaced: Displacement) -> dict[str, Any]:
    return {
        "tasks": displaced.tasks,
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
            for victim in displaced.victims
        ],
    }
