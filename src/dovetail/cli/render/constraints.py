"""The result of checking an expression."""

from rich.console import Group, RenderableType
from rich.text import Text

from dovetail.cli.render.parts.table import Header, count, table
from dovetail.responses.policies import CheckedConstraint

_FAILING = (Header("NODE"), Header("WHY NOT", folds=True))


def checked(found: CheckedConstraint, wide: bool = False) -> RenderableType:
    """How many nodes satisfy it, and some that do not."""
    nodes = found["nodes"]
    number, of = nodes["satisfying"], nodes["of"]
    head = Text.assemble(("✓ good", "green"), f": satisfied by {number} of {count(of, 'node')}")
    if not nodes["failing"]:
        return head
    more = of - number - len(nodes["failing"])
    rows = [[row["node"], row["why"]] for row in nodes["failing"]]
    tail = [Text(f"and {more} more", style="dim")] if more else []
    return Group(head, table(_FAILING, rows, wide), *tail)


def mistake(found: CheckedConstraint) -> Text:
    """The words, the text, and a caret under the place."""
    words, *lines = (found.get("caret") or found.get("error") or "").splitlines()
    drawn = Text.assemble(("✗ ", "red"), (words, "bold"))
    for line in lines:
        drawn.append(f"\n  {line}", style="bold red" if line.strip() == "^" else "")
    return drawn
