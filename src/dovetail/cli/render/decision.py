"""The answers of explain, why-not, plan and capacity: the sentence first, then the details."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isnan, nan
from typing import TYPE_CHECKING

from dovetail.cli.render.parts.bars import bar, height
from dovetail.cli.render.parts.table import Header, TableColumn, and_more, grid, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text
from dovetail.cli.render.parts.times import clock, span, starts_about
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.questions import (
        CapacityAnswer,
        DecisionExplanation,
        ExplainAnswer,
        PlacementBlockers,
        PlanAnswer,
        PlannedPlace,
        RankedNode,
        ResourceShortage,
        VictimRow,
        WhyNotAnswer,
    )

MOST_NODES = 20
FUNNEL_WIDTH = 28

_SHORTAGES: list[TableColumn[ResourceShortage]] = [
    TableColumn("RESOURCE", lambda row: row["resource"]),
    TableColumn("NEEDED", lambda row: row["needed"], right=True),
    TableColumn("FREE", lambda row: row["best_free"], right=True),
    TableColumn("SHORT BY", lambda row: row["short_by"], right=True),
    TableColumn("NODE", lambda row: row["best_node"], shrinks=True),
]
_VICTIMS: list[TableColumn[VictimRow]] = [
    TableColumn("TASK", lambda row: f"{row['name']}.{row['replica']}"),
    TableColumn("PRIORITY", lambda row: row["priority"]),
    TableColumn("NODE", lambda row: row["node"]),
    TableColumn("WORK LOST", lambda row: span(row["lost_s"]), right=True),
]
MOST_PLACES = 10


def victim_list(rows: Sequence[VictimRow]) -> Drawing:
    """Tasks that would be preempted, and what each would lose."""
    return table(_VICTIMS, rows)


def _places(plan: PlanAnswer, wide: bool) -> list[Drawing]:
    """The places that could run its first task, side by side; one without a start has no room."""
    places, now = plan.get("market") or [], plan.get("planned_at", 0.0)
    if not places:
        return []
    columns: list[TableColumn[PlannedPlace]] = [
        TableColumn("", lambda row: "✔" if row["chosen"] else ""),
        TableColumn("PLACE", _place_name, shrinks=True),
        TableColumn("COST", lambda row: f"{row['cost']:.2f} {row['currency']}", right=True),
        TableColumn("START", lambda row: _from_now(row["start"], now), right=True),
        TableColumn("FINISH", lambda row: _from_now(row["finish"], now), right=True),
        TableColumn("WHY NOT", lambda row: row["why_not"], folds=True),
    ]
    shown = places if wide else places[:MOST_PLACES]
    title = Text("\nwhere it could run", style="dim")
    return [title, table(columns, shown, wide), *and_more(len(places) - len(shown), "place")]


def _place_name(row: PlannedPlace) -> str:
    """`aws p3.2xlarge spot`; nodes without a type are known by one of their names."""
    name = f"{row['backend']} {row['kind'] or row['node']}"
    return f"{name} spot" if row["spot"] else name


def _from_now(at: float | None, now: float) -> str:
    if at is None:
        return "-"
    return "now" if at - now < 1 else f"+{span(at - now)}"


def looked_at_nodes(explanation: DecisionExplanation) -> bool:
    """Whether nodes were considered: work over its quota is refused before that."""
    return explanation["outcome"] != "over_quota"


def explanation_view(explanation: DecisionExplanation, chosen: str | None = None, wide: bool = False) -> Drawing:
    """The funnel, then the points of the best nodes or, when nothing fits, what is short."""
    parts: list[Drawing] = [funnel(explanation, chosen, wide)]
    if explanation["best"] and explanation["weights"]:
        parts += [Text(_score_title(explanation), style="dim"), score_table(explanation, chosen, wide=wide)]
    if explanation["shortages"]:
        title = "\nwhat is short on the nearest node"
        parts += [Text(title, style="dim"), table(_SHORTAGES, explanation["shortages"], wide)]
        helps = explanation["eviction"] == "helps"
        words = "moving other work away could free enough capacity" if helps else "no node is large enough when empty"
        parts.append(Text(words))
    parts += [Text(f"note: {note}") for note in explanation["notes"]]
    return Stack(*parts)


def funnel(explanation: DecisionExplanation, chosen: str | None = None, wide: bool = False) -> Drawing:
    """Narrowing bars: how many nodes each filter left. Filters that refused no node are counted; wide names them."""
    nodes = explanation["nodes"]
    lines: list[list[object]] = [[nodes, "nodes", bar(1.0 if nodes else 0.0, FUNNEL_WIDTH), ""]]
    before = nodes
    idle: list[str] = []
    for step in explanation["funnel"]:
        remaining = step["remaining"]
        if remaining == before:
            idle.append(step["filter"])
            continue
        lost = Text(f"-{before - remaining} {step['reason'].replace('_', ' ')}", style="dim")
        lines.append([remaining, step["filter"], bar(remaining / nodes, FUNNEL_WIDTH), lost])
        before = remaining
        if not remaining:
            break
    if chosen is not None:
        lines.append([1, "chosen", bar(1 / max(1, nodes), FUNNEL_WIDTH, style="green"), Text(chosen, style="bold")])
    steps = grid((Header(right=True), Header(), Header(), Header(shrinks=True)), lines)
    if not idle or not nodes:
        return steps
    told = f"refused no node: {', '.join(idle)}" if wide else f"{count(len(idle), 'other filter')} refused no node"
    return Stack(steps, Text(told, style="dim"))


def _score_title(explanation: DecisionExplanation) -> str:
    title = f"\npoints by profile {explanation['profile']}, 0 to 1 each, and the weighted total"
    best, funnel = len(explanation["best"]), explanation["funnel"]
    feasible = funnel[-1]["remaining"] if funnel else explanation["nodes"]
    return (
        f"{title}\nthe best {best} of {count(feasible, 'node')}; why-not ranks any other" if best < feasible else title
    )


# --- scores ------------------------------------------------------------------------------------------------------


def score_table(
    explanation: DecisionExplanation, chosen: str | None = None, most: int = 10, wide: bool = False
) -> Drawing:
    """The best candidates, and the chosen one wherever it ranks."""
    lines = explanation["best"]
    shown = lines[:most] + [line for line in lines[most:] if line["node"] == chosen]
    return _candidates(shown, explanation["weights"], chosen, wide)


def _candidates(
    lines: Sequence[RankedNode], weights: Mapping[str, float | None], marked: str | None, wide: bool
) -> Drawing:
    """Points are 0 to 1 before weighting; a weight that is not known is left out. Scores that gave none of the nodes
    anything are only named, unless it is wide."""
    idle = [] if wide else [name for name in weights if not any(line["points"].get(name) for line in lines)]
    idle = idle if len(idle) < len(weights) else []

    def style(line: RankedNode) -> str:
        return "bold" if line["node"] == marked else ""

    columns: list[TableColumn[RankedNode]] = [
        TableColumn("", lambda line: Text("▶" if line["node"] == marked else " ", style="green")),
        TableColumn("NODE", lambda line: Text(line["node"], style=style(line)), shrinks=True),
        *(_score_column(name, weight) for name, weight in weights.items() if name not in idle),
        TableColumn("load", lambda line: None if isnan(line["load"]) else f"{line['load']:.2f}", right=True, wide=True),
        TableColumn("TOTAL", lambda line: Text(f"{line['total']:.2f}", style=style(line)), right=True),
    ]
    drawn = table(columns, lines, wide)
    if not idle:
        return drawn
    return Stack(drawn, Text(f"0 on all of them: {', '.join(name.replace('_', ' ') for name in idle)}", style="dim"))


def _score_column(name: str, weight: float | None) -> TableColumn[RankedNode]:
    """Long names go on several lines, so that five scores fit."""
    title = name.replace("_", "\n") + ("" if weight is None else f"\nx {weight:g}")
    return TableColumn(title, lambda line: _points(line["points"].get(name)), right=True)


def _points(points: float | None) -> Text:
    if points is None:
        return Text("-", style="dim")
    return Text.assemble((height(points), "blue"), f" {points:.2f}")


# --- the answers -------------------------------------------------------------------------------------------------


def explain_view(answer: ExplainAnswer, now_s: float, wide: bool = False) -> Drawing:
    """The answer of `explain`: for pending work what is true now, otherwise the stored decision."""
    parts: list[Drawing] = [Text(answer["answer"], style="bold")]
    if start := starts_about(answer, now_s, rest=answer["workload"]["active"] > 0):
        parts.append(Text(start))
    parts += _blockers(answer, now_s)
    decision, now = answer["decision"], answer["now"]
    if now:
        parts += [Text(""), explanation_view(now, wide=wide)]
    elif decision and looked_at_nodes(decision["explanation"]):
        parts += [Text(""), explanation_view(decision["explanation"], decision["node"], wide)]
    return Stack(*parts)


def _blockers(answer: PlacementBlockers, now_s: float | None = None) -> Iterator[Drawing]:
    """Requirements that no node satisfies together, and what would help. Nothing where nothing blocks the work, or
    where an older server does not say. With `now_s`, times are shown as times of day."""
    core, suggestions = answer.get("core") or [], answer.get("suggestions") or []
    if core:
        smallest = "the smallest set" if answer["core_exact"] else "a small set"
        yield Text(f"\n{smallest} of its requirements that no node satisfies together", style="dim")
        headers = (Header("REQUIREMENT", folds=True), Header("FIELD", shrinks=True), Header("HAVE IT"))
        yield grid(headers, [(one["requirement"], one["field"], count(one["nodes_alone"], "node")) for one in core])
    if suggestions:
        yield Text("\nwhat would help; each was tried", style="dim")
    for number, one in enumerate(suggestions, 1):
        line = Text.assemble(f"{number}. ", ("✓", "green"), f" {one['words']}")
        until = (one.get("action") or {}).get("wait_until")
        if until is not None and now_s is not None:
            line.append(f" ({clock(until, now_s)})", style="dim")
        yield line


def why_not_view(answer: WhyNotAnswer, wide: bool = False) -> Drawing:
    parts: list[Drawing] = [Text(answer["answer"], style="bold")]
    if answer["refused"]:
        headers = (Header("FILTER"), Header("SAYS", folds=True), Header("MOVING WORK AWAY"))
        rows = [
            [row["filter"], row["message"], "could help" if row["eviction"] == "helps" else "cannot help"]
            for row in answer["refused"]
        ]
        parts += [Text(""), grid(headers, rows)]
    else:
        parts += [
            Text(f"\nrank {answer['rank']} of {count(answer['feasible'], 'node')} that could take it", style="dim"),
            _against_the_best(answer, wide),
        ]
    return Stack(*parts)


def _against_the_best(answer: WhyNotAnswer, wide: bool) -> Drawing:
    """The few best nodes, and this one marked below them if it is not among them."""
    lines = list(answer["best"][:5])
    if all(line["node"] != answer["node"] for line in lines):
        points = answer["points"]
        # The answer does not say the node's load.
        lines.append({"node": answer["node"], "total": points["total"], "points": points["scores"], "load": nan})
    weights = dict.fromkeys(answer["points"]["scores"])
    return _candidates(lines, weights, answer["node"], wide)


def plan_list(plans: Sequence[PlanAnswer], wide: bool = False) -> Drawing:
    parts: list[Drawing] = []
    for plan in plans:
        parts += [Text(""), plan_view(plan, wide)] if parts else [plan_view(plan, wide)]
    return Stack(*parts)


def plan_view(plan: PlanAnswer, wide: bool = False) -> Drawing:
    """The plan of one workload: where its tasks go, how the first was placed, and why the rest do not fit."""
    tasks = plan["tasks"]
    parts: list[Drawing] = [Text(plan["answer"], style="bold")]
    if displaced := plan.get("displaces"):
        victims = displaced["victims"]
        shown = victims if wide else victims[:MOST_NODES]
        parts += [Text("\nwhat would be preempted", style="dim"), table(_VICTIMS, shown, wide)]
        parts += and_more(len(victims) - len(shown), "task")
    parts += _places(plan, wide)
    parts += _blockers(plan)
    if talk := plan.get("communication"):
        parts.append(Text(talk["message"]))
        if wide:
            parts.append(Text(f"by {talk['algorithm']}, held up by {talk['busiest']}", style="dim"))
    used = Counter(task["node"] for task in tasks if task["node"] is not None)
    if len(used) > 1:
        most = used.most_common(None if wide else MOST_NODES)
        parts += [Text(""), grid((Header("NODE"), Header("TASKS", right=True)), most)]
        parts += and_more(len(used) - len(most), "node")
    told = [task for task in tasks if task["node"] is None][:1] or list(tasks[:1])
    for task in told:
        if looked_at_nodes(task["explanation"]):
            parts += [
                Text(f"\nhow replica {task['replica']} was decided", style="dim"),
                explanation_view(task["explanation"], task["node"], wide),
            ]
    return Stack(*parts)


def capacity_view(answer: CapacityAnswer, wide: bool = False) -> Drawing:
    parts: list[Drawing] = [Text(answer["answer"], style="bold"), Text("")]
    nodes = answer["by_node"]
    if nodes:
        shown = nodes if wide else nodes[:MOST_NODES]
        headers = (Header("NODE"), Header("FITS", right=True))
        parts.append(grid(headers, [(row["node"], row["fits"]) for row in shown]))
        parts += and_more(len(nodes) - len(shown), "node")
    else:
        parts.append(explanation_view(answer["explanation"], wide=wide))
    return Stack(*parts)
