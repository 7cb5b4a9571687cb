"""The score table of a decision: nodes by scores, weights in the header, the chosen row marked."""

from collections.abc import Mapping, Sequence

from rich.text import Text

from dovetail.cli.render.parts.bars import height
from dovetail.cli.render.parts.table import Header, Listing, table
from dovetail.responses.questions import DecisionExplanation, RankedNode

CHOSEN = "▶"


def score_table(
    explanation: DecisionExplanation, chosen: str | None = None, most: int = 10, wide: bool = False
) -> Listing:
    """The best candidates, and the chosen one wherever it ranks."""
    lines = explanation["best"]
    shown = lines[:most] + [line for line in lines[most:] if line["node"] == chosen]
    return candidate_table(shown, explanation["weights"], chosen, wide)


def candidate_table(
    shown: Sequence[RankedNode], weights: Mapping[str, float | None], marked_node: str | None, wide: bool = False
) -> Listing:
    """Points are 0 to 1 before weighting; a weight that is not known is left out."""
    columns = [Header(""), Header("NODE", shrinks=True)]
    columns += [Header(_header(name, weight), right=True) for name, weight in weights.items()]
    columns += [Header("load", right=True, wide=True), Header("TOTAL", right=True)]
    rows: list[list[object]] = []
    for line in shown:
        marked = line["node"] == marked_node
        style = "bold" if marked else ""
        rows.append(
            [
                Text(CHOSEN if marked else " ", style="green"),
                Text(line["node"], style=style),
                *(_points(line["points"].get(name)) for name in weights),
                f"{line['load']:.2f}",
                Text(f"{line['total']:.2f}", style=style),
            ]
        )
    return table(columns, rows, wide)


def _header(name: str, weight: float | None) -> str:
    """Long names go on several lines, so that five scores fit."""
    return name.replace("_", "\n") + ("" if weight is None else f"\nx {weight:g}")


def _points(points: float | None) -> Text:
    if points is None:
        return Text("-", style="dim")
    return Text.assemble((height(points), "blue"), f" {points:.2f}")
