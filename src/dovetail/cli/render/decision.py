"""The answers of explain, why-not, plan and capacity: the sentence first, then the details."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.impasse import impasse_view
from dovetail.cli.render.parts.funnel import funnel
from dovetail.cli.render.parts.scores import candidate_table, score_table
from dovetail.cli.render.parts.spans import span
from dovetail.cli.render.parts.starts import starts_about
from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.questions import (
    CapacityAnswer,
    DecisionExplanation,
    ExplainAnswer,
    PlanAnswer,
    ResourceShortage,
    VictimRow,
    WhyNotAnswer,
)

MOST_NODES = 20


def looked_at_nodes(explanation: DecisionExplanation) -> bool:
    """Whether nodes were considered: work over its quota is refused before that."""
    return explanation["outcome"] != "over_quota"


def explanation_view(explanation: DecisionExplanation, chosen: str | None = None, wide: bool = False) -> RenderableType:
    """The funnel, then the points of the best nodes or, when nothing fits, what is short."""
    parts: list[RenderableType] = [funnel(explanation, chosen)]
    if explanation["best"] and explanation["weights"]:
        title = f"\npoints by profile {explanation['profile']}, 0 to 1 each, and the weighted total"
        parts += [Text(title, style="dim"), score_table(explanation, chosen, wide=wide)]
    if explanation["shortages"]:
        parts += [Text("\nwhat is short on the nearest node", style="dim"), _shortages(explanation["shortages"], wide)]
        helps = explanation["eviction"] == "helps"
        parts.append(Text("moving other work away could make room" if helps else "no node is large enough when empty"))
    parts += [Text(f"note: {note}") for note in explanation["notes"]]
    return Group(*parts)


def _shortages(rows: Sequence[ResourceShortage], wide: bool) -> RenderableType:
    columns = (
        Header("RESOURCE"),
        Header("NEEDED", right=True),
        Header("FREE", right=True),
        Header("SHORT BY", right=True),
        Header("NODE", shrinks=True),
    )
    return table(
        columns,
        [[row["resource"], row["needed"], row["best_free"], row["short_by"], row["best_node"]] for row in rows],
        wide,
    )


def explain_view(answer: ExplainAnswer, now_s: float, wide: bool = False) -> RenderableType:
    """The answer of `explain`: for pending work what is true now, otherwise the stored decision."""
    parts: list[RenderableType] = [Text(answer["answer"], style="bold")]
    if start := starts_about(answer, now_s, rest=answer["workload"]["active"] > 0):
        parts.append(Text(start))
    parts += impasse_view(answer, now_s, wide)
    decision, now = answer["decision"], answer["now"]
    if now:
        parts += [Text(""), explanation_view(now, wide=wide)]
    elif decision and looked_at_nodes(decision["explanation"]):
        parts += [Text(""), explanation_view(decision["explanation"], decision["node"], wide)]
    return Group(*parts)


def why_not_view(answer: WhyNotAnswer, wide: bool = False) -> RenderableType:
    parts: list[RenderableType] = [Text(answer["answer"], style="bold")]
    if answer["refused"]:
        columns = (Header("FILTER"), Header("SAYS", folds=True), Header("MOVING WORK AWAY"))
        rows = [
            [row["filter"], row["message"], "could help" if row["eviction"] == "helps" else "cannot help"]
            for row in answer["refused"]
        ]
        parts += [Text(""), table(columns, rows)]
    else:
        parts += [
            Text(f"\nrank {answer['rank']} of {count(answer['feasible'], 'node')} that could take it", style="dim"),
            _against_the_best(answer, wide),
        ]
    return Group(*parts)


def _against_the_best(answer: WhyNotAnswer, wide: bool) -> RenderableType:
    """The few best nodes, and this one marked below them if it is not among them."""
    lines = list(answer["best"][:5])
    if all(line["node"] != answer["node"] for line in lines):
        points = answer["points"]
        load = float("nan")  # the answer does not say it, and the column is not shown
        lines.append({"node": answer["node"], "total": points["total"], "points": points["scores"], "load": load})
    weights = dict.fromkeys(answer["points"]["scores"])
    return candidate_table(lines, weights, answer["node"], wide)


def plan_view(plan: PlanAnswer, wide: bool = False) -> RenderableType:
    """The plan of one workload: where its tasks go, how the first was placed, and why the rest do not fit."""
    tasks = plan["tasks"]
    parts: list[RenderableType] = [Text(plan["answer"], style="bold")]
    if displaced := plan.get("displaces"):
        parts += [Text("\nwho would have to give way", style="dim"), _victims(displaced["victims"], wide)]
    parts += impasse_view(plan, wide=wide)
    if talk := plan.get("communication"):
        parts.append(Text(talk["message"]))
        if wide:
            parts.append(Text(f"by {talk['algorithm']}, held up by {talk['busiest']}", style="dim"))
    used = Counter(task["node"] for task in tasks if task["node"] is not None)
    if len(used) > 1:
        lines = [[node, number] for node, number in used.most_common(MOST_NODES)]
        parts += [Text(""), table((Header("NODE"), Header("TASKS", right=True)), lines, wide)]
        if len(used) > MOST_NODES:
            parts.append(Text(f"and {count(len(used) - MOST_NODES, 'more node', 'more nodes')}", style="dim"))
    told = [task for task in tasks if task["node"] is None][:1] or list(tasks[:1])
    for task in told:
        if looked_at_nodes(task["explanation"]):
            parts += [
                Text(f"\nhow replica {task['replica']} was decided", style="dim"),
                explanation_view(task["explanation"], task["node"], wide),
            ]
    return Group(*parts)


def _victims(rows: Sequence[VictimRow], wide: bool) -> RenderableType:
    columns = (Header("TASK"), Header("PRIORITY"), Header("NODE"), Header("WORK LOST", right=True))
    shown = rows if wide else rows[:MOST_NODES]
    lines = [[f"{row['name']}.{row['replica']}", row["priority"], row["node"], span(row["lost_s"])] for row in shown]
    found = table(columns, lines, wide)
    if len(shown) == len(rows):
        return found
    return Group(found, Text(f"and {count(len(rows) - len(shown), 'more task')}; -o wide lists them", style="dim"))


def capacity_view(answer: CapacityAnswer, wide: bool = False) -> RenderableType:
    parts: list[RenderableType] = [Text(answer["answer"], style="bold")]
    nodes = answer["by_node"]
    if nodes:
        shown = nodes if wide else nodes[:MOST_NODES]
        columns = (Header("NODE"), Header("FITS", right=True))
        parts += [Text(""), table(columns, [[row["node"], row["fits"]] for row in shown], wide)]
        if len(shown) < len(nodes):
            parts.append(Text(f"and {count(len(nodes) - len(shown), 'more node')}; -o wide lists them", style="dim"))
    else:
        parts += [Text(""), explanation_view(answer["explanation"], wide=wide)]
    return Group(*parts)
