"""The sentences that the API sends as `answer`: what the numbers of an answer mean.

They are written here and nowhere else; the CLI prints them unchanged. Pure functions from data to text.
"""

from collections.abc import Mapping
from typing import Any

from dovetail.engine.questions.explanation_questions import WhyNot
from dovetail.engine.questions.plan_questions import (
    CoreMember,
    Displacement,
    FreeCapacity,
    Impasse,
    PlannedTask,
    Victim,
)
from dovetail.model.reason import Eviction, Outcome, waits_for_others
from dovetail.model.task import WAITS_TO_START
from dovetail.model.text.listing import count, first_of
from dovetail.model.workloads.workload import Workload

Row = Mapping[str, Any]
_NAMED = 3


def explained(
    row: Row,
    decision: Row | None,
    now: Row | None,
    position: int | None,
    set_aside: str = "",
    impasse: Impasse | None = None,
    trouble: str = "",
) -> str:
    """Why a workload is where it is. `set_aside`: why it waits although it fits on a node, such as capacity that is
    promised to others for the time it would run. `impasse`: what of it cannot be had, and what would help. `trouble`:
    of the backend that has to start it."""
    name, state = row["name"], row["state"]
    if row["finished_at"] is not None:
        return _ended(row)
    if row["pending"] and not row["active"]:
        return _with_way_out(f"{name} waits{_place(position)}: {_why_waiting(row, now, set_aside)}.", impasse)
    if row["pending"]:
        hold = "holds" if row["active"] == 1 else "hold"
        said = (
            f"{name} is {state}: {row['active']:,} of {count(row['replicas'], 'task')} {hold} a node, "
            f"{row['pending']:,} wait{_place(position)}: {_why_waiting(row, now, set_aside)}."
        )
        return _with_way_out(said, impasse)
    if decision is None or decision["node"] is None:
        return f"{name} is {state}."
    hindrance = row["message"] if row.get("reason") == WAITS_TO_START else trouble
    if hindrance:
        return f"{name} is {state} on {_chosen(decision)}, and has not started: {hindrance.rstrip('.')}."
    if row["replicas"] > 1:
        tasks = ", ".join([f"with {count(row['active'], 'task')}", *_ended_tasks(row)])
        return f"{name} is {state} {tasks}; the latest went to {_chosen(decision)}."
    return f"{name} is {state} on {_chosen(decision)}."


def _ended(row: Row) -> str:
    name, state = row["name"], row["state"]
    why = f": {row['message']}" if row["message"] else ""
    if row["replicas"] > 1:
        return f"{name} {state} ({', '.join(_ended_tasks(row))}){why}."
    return f"{name} {state}{why}."


def _ended_tasks(row: Row) -> list[str]:
    """How many, for each way to end."""
    return [f"{row[kind]:,} {kind}" for kind in ("succeeded", "failed", "cancelled") if row[kind]]


def _place(position: int | None) -> str:
    return f", number {position:,} in the queue" if position is not None else ""


def _why_waiting(row: Row, now: Row | None, set_aside: str) -> str:
    if now is None:
        return str(row["message"] or "it has not been looked at yet").rstrip(".")
    if now["outcome"] == "placed" and set_aside:
        return set_aside.rstrip(".")
    if now["outcome"] == "placed":
        node = now["best"][0]["node"] if now["best"] else "a node"
        return f"it fits now, best on {node}, and is placed when its turn comes"
    words = str(now["message"]).rstrip(".")
    return f"{words}; and {row['message']}" if row.get("reason") == Outcome.OVER_QUOTA else words


def _with_way_out(said: str, impasse: Impasse | None) -> str:
    """And then: `No node has zone=a and memory 64GiB free. Try: allow zone b; tolerate dedicated=gpu.`"""
    if impasse is None:
        return said
    if impasse.core:
        said += _impossible(impasse)
    elif impasse.waits_for and impasse.waits_for not in said:
        said += f" It waits for {impasse.waits_for}."
    tried = "; ".join(one.words for one in impasse.suggestions[:_NAMED])
    return f"{said} Try: {tried}." if tried else said


def _impossible(impasse: Impasse) -> str:
    has = [member.requirement for member in impasse.core if not _is_expression(member)]
    holds = [member.requirement for member in impasse.core if _is_expression(member)]
    parts = [f"has {' and '.join(has)}"] if has else []
    if holds:
        parts.append(f"satisfies {' and '.join(holds)}")
    return f" No node {' and '.join(parts)}."


def _is_expression(member: CoreMember) -> bool:
    """Something that holds of a node, rather than something that it has."""
    return member.field.startswith(("constraints", "policy"))


def waits_for(reason: str, message: str) -> str:
    """What pending work waits for, in one line."""
    if not message:
        return reason.replace("_", " ") or "its turn"
    return message if not reason or waits_for_others(reason) else f"{reason.replace('_', ' ')}: {message}"


def _chosen(decision: Row) -> str:
    explanation = decision["explanation"]
    best, funnel = explanation["best"], explanation["funnel"]
    together = str(explanation["message"]).removeprefix(f"placed on {decision['node']}")
    if together.startswith(", "):  # a gang's layout chose
        return f"{decision['node']}{together}"
    if not best:
        return str(decision["node"])
    feasible = funnel[-1]["remaining"] if funnel else explanation["nodes"]
    nodes = f"{feasible:,} of {count(explanation['nodes'], 'node')} that could take it"
    words = f"{decision['node']}, chosen by {explanation['profile']} from {nodes}"
    if explanation["weights"]:
        words += f" with {best[0]['total']:.2f} points"
        if len(best) > 1:
            level = f"{best[0]['total']:.2f}" == f"{best[1]['total']:.2f}"
            words += (
                f" (as many as {best[1]['node']})" if level else f" (next: {best[1]['node']}, {best[1]['total']:.2f})"
            )
    return words


def decided(decision: Row) -> str:
    """One decision: `gpu-3, chosen by auto from 12 of 40 nodes that could take it …`, or why it waits."""
    words = str(decision["explanation"]["message"]) if decision["node"] is None else _chosen(decision)
    return words.rstrip(".") or "it waits for its turn"


def why_not(workload: str, asked: WhyNot, total: float, holds: bool) -> str:
    """Why a workload is not on a node. `holds`: some task of it is there after all."""
    if holds:
        return f"{workload} does have a task on {asked.node}."
    if asked.refusals:
        against = "; ".join(refusal.message.rstrip(".") for refusal in asked.refusals)
        helps = all(refusal.eviction is Eviction.HELPS for refusal in asked.refusals)
        tail = " Moving other work away would help." if helps else ""
        return f"{asked.node} cannot take {workload}: {against}.{tail}"
    if asked.together:
        return f"{asked.node} could take a task of {workload}, but they have to lie together: {asked.together}."
    if asked.rank == 1 or asked.best_node == asked.node:
        return f"{asked.node} can take {workload} and is the best of {count(asked.feasible, 'node')} now."
    best = asked.explanation.best
    against_best = f" against {best[0].total:.2f} of {asked.best_node}" if best else ""
    return (
        f"{asked.node} can take {workload} but is number {asked.rank:,} of {count(asked.feasible, 'node')}: "
        f"{total:.2f} points{against_best}."
    )


def planned(
    spec: Workload, tasks: list[PlannedTask], displaced: Displacement | None = None, impasse: Impasse | None = None
) -> str:
    """Where a workload would go, which tasks would be preempted for what does not fit, and what else would help."""
    first = f"{_first(spec)} " if spec.after else ""
    return _with_way_out(f"{first}{_where(spec, tasks)}{_instead(displaced)}", impasse)


def _first(spec: Workload) -> str:
    names = ", ".join(f"{after.workload} ({after.condition})" for after in spec.after)
    return f"{spec.name} would start after {names}; as things are now:"


def _where(spec: Workload, tasks: list[PlannedTask]) -> str:
    name = spec.name
    nodes = [task.node for task in tasks if task.node is not None]
    at_once = min(spec.replicas, spec.concurrency or spec.replicas)
    if nodes and len(nodes) == spec.replicas == 1:
        return f"{name} would go to {nodes[0]}."
    different = len(set(nodes))
    of = f"the {at_once:,} tasks of {name} that may run at once" if at_once < spec.replicas else ""
    if len(nodes) == at_once:
        whole = f"All of {of}" if of else f"All {spec.replicas:,} tasks of {name}"
        return f"{whole} would be placed, on {count(different, 'node')}."
    of = of or f"{spec.replicas:,} tasks of {name}"
    if tasks and tasks[-1].node is not None:
        placed = f"The first {len(nodes):,} of {of} would be placed, on {count(different, 'node')}"
        return f"{placed}; for all of them: dovetail plan --tasks {at_once}."
    why = tasks[-1].explanation.message.rstrip(".") if tasks else "nothing was tried"
    if not nodes:
        return f"{name} would wait: {why}."
    return f"{len(nodes):,} of {of} would be placed, on {count(different, 'node')}; the rest would wait: {why}."


def _instead(displaced: Displacement | None) -> str:
    if displaced is None:
        return ""
    named = first_of(displaced.victims, _NAMED, _victim)
    so_that = "" if displaced.tasks == 1 else f", so that {displaced.tasks:,} tasks fit"
    return f" It would preempt {count(len(displaced.victims), 'task')}{so_that}: {named}."


def _victim(victim: Victim) -> str:
    name = f"{victim.name}.{victim.task.replica}"
    return f"{name} ({victim.priority}, {roughly(victim.lost_s)} of work lost) on {victim.node}"


def roughly(seconds: float) -> str:
    """`40 s`, `2 m`, `3 h`, `5 d`."""
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def fitting(found: FreeCapacity) -> str:
    """How many more fit."""
    if not found.total:
        return f"None of these fits now: {found.explanation.message.rstrip('.')}."
    most, nodes = found.by_node[0], len(found.by_node)
    fit = "fits" if found.total == 1 else "fit"
    total = f"At least {found.total:,}" if found.at_least else f"{found.total:,}"
    return f"{total} more of these {fit}, on {count(nodes, 'node')}; the most on {most[0]} ({most[1]:,})."
