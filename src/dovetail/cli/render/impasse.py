"""Requirements that no node satisfies together, and what would help: a short list each."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from dovetail.cli.render.parts.starts import clock
from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.questions import PlacementBlockers

_CHECKED = "✓"


def impasse_view(answer: PlacementBlockers, now_s: float | None = None, wide: bool = False) -> Iterator[RenderableType]:
    """Yields nothing where nothing blocks the work, or where an older server does not say. With `now_s`, times are
    shown as times of day."""
    core, suggestions = answer.get("core") or [], answer.get("suggestions") or []
    if core:
        smallest = "the smallest set" if answer["core_exact"] else "a small set"
        yield Text(f"\n{smallest} of its requirements that no node satisfies together", style="dim")
        rows = [[m["requirement"], m["field"], count(m["nodes_alone"], "node")] for m in core]
        yield table(
            (Header("REQUIREMENT", folds=True), Header("FIELD", shrinks=True), Header("HAVE IT")),
            rows,
            wide,
        )
    if suggestions:
        yield Text("\nwhat would help; each was tried", style="dim")
        for number, one in enumerate(suggestions, 1):
            line = Text.assemble(f"{number}. ", (_CHECKED, "green"), f" {one['words']}")
            until = (one.get("action") or {}).get("wait_until")
            if until is not None and now_s is not None:
                line.append(f" ({clock(until, now_s)})", style="dim")
            yield line
