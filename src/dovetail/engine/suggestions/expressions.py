"""Relaxing one part of a required expression, so that given nodes satisfy it.

A comparison of a label with values gets more values, a comparison with a bound gets another bound, anything else is
removed. Guarantees: the other parts of the expression stay as they were written. Left to others: whether the relaxed
expression holds (the rehearsal compiles it and asks).
"""

from dataclasses import replace
from math import ceil, floor

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.structure import text_of
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.tree import Call, ListOf, Literal, Name, Select, Tree, children_of, label_of
from dovetail.constraints.syntax.writer import write
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.suggestions.changes import DefinitionChange, Draft
from dovetail.engine.suggestions.smaller_amounts import round_below
from dovetail.model.resources import CPU, DISK, GPU, MEMORY
from dovetail.model.workloads.constraint import Structured

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_BYTES = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))
_FINE = 100  # shares are written in hundredths


def labels_in(text: str) -> list[str]:
    """Labels of the node that an expression speaks of, also in `has(…)`."""
    found, left = [], [parse(text)]
    while left:
        tree = left.pop()
        left += children_of(tree)
        key = label_of(replace(tree, test=False) if isinstance(tree, Select) else tree)
        if key is not None:
            found.append(key)
    return found


def loosen(state: EngineState, index: int, text: str, samples: list[int], rows: Rows, wanted: int) -> DefinitionChange:
    """For part `text` of constraint `index`: rows of which `samples` stand for all that differ in their labels."""
    tree = parse(text)
    labels = [state.cluster.labels.row(row) for row in samples]
    looser: Tree | None
    if (allowed := _allowed(tree, labels)) is not None:
        (words, looser), cost = allowed, 1.0
    elif (looser := _moved(tree, View(state.cluster), rows, wanted)) is not None:
        words, cost = f"require only {write(looser)}", 1.3
    else:
        words, cost = f"drop the constraint {text}", 3.0

    def edit(draft: Draft) -> None:
        constraint = draft["constraints"][index]
        written = constraint["require"]
        whole = parse(written if isinstance(written, str) else text_of(Structured.model_validate(written)))
        parts = whole.args if isinstance(whole, Call) and whole.name == "&&" else (whole,)
        relaxed = [looser if part == tree else part for part in parts]
        kept = tuple([part for part in relaxed if part is not None])
        if kept:
            constraint["require"] = write(kept[0] if len(kept) == 1 else Call("&&", kept))
        else:
            draft["constraints"][index] = None

    return DefinitionChange(words, "constraints", cost, edit)


def _allowed(tree: Tree, nodes: list[dict[str, str]]) -> tuple[str, Tree] | None:
    """`zone == "a"` or `zone in ["a"]` with the values of these nodes as well."""
    values: tuple[Tree, ...]
    match tree:
        case Call("==", (Literal() as value, left)) | Call("==", (left, value)):
            values = (value,)
        case Call("in", (left, ListOf(values))):
            pass
        case _:
            return None
    key = label_of(left)
    if key is None or any(key not in labels for labels in nodes):
        return None
    if not all(isinstance(value, Literal) for value in values):
        return None
    more = list(dict.fromkeys(labels[key] for labels in nodes))
    return f"allow {key} {' or '.join(more)}", Call("in", (left, ListOf((*values, *map(Literal, more)))))


# --- bounds ----------------------------------------------------------------------------------------------------


def _moved(tree: Tree, view: View, rows: Rows, wanted: int) -> Tree | None:
    """A comparison of a number of the node with a bound, with the bound moved no further than it must."""
    if not isinstance(tree, Call) or tree.name not in _TURNED:
        return None
    for name, side in ((tree.name, tree.args[0]), (_TURNED[tree.name], tree.args[1])):
        found = _number(side, view)
        if found is not None and len(rows):
            values, resource = found
            best = sorted(values[rows].tolist(), reverse=name.startswith(">"))[: max(1, wanted)][-1]
            bound = _below if name.startswith(">") else _above
            moved = bound(best, resource, name in ("<", ">"))
            return None if moved is None else Call(name, (side, moved))
    return None


def _number(tree: Tree, view: View) -> tuple[F8, str] | None:
    """What a number of a node is on all of them, in the smallest unit, and of which resource; empty: a plain share."""
    if not isinstance(tree, Select):
        return None
    if tree == Select(Name("node"), "load"):
        return view.load, ""
    for table, column in (("free", view.free), ("capacity", view.capacity), ("allocated", view.allocated)):
        if tree.of == Select(Name("node"), table) and (found := column(tree.name)) is not None:
            return found, tree.name
    return None


def _below(value: float, resource: str, strictly: bool) -> Tree | None:
    """The largest friendly bound that the value is not below, or is above."""
    if not resource:
        hundredths = floor(value * _FINE)
        return _share(hundredths - 1 if strictly and hundredths >= value * _FINE else hundredths)
    most = value - 1 if strictly else value
    return None if most < 0 else _amount(round_below(resource, most, 0), resource)


def _above(value: float, resource: str, strictly: bool) -> Tree | None:
    """The smallest friendly bound that the value is not above, or is below."""
    if not resource:
        hundredths = ceil(value * _FINE)
        return _share(hundredths + 1 if strictly and hundredths <= value * _FINE else hundredths)
    least = value + 1 if strictly else value
    if resource in (MEMORY, DISK):
        return _amount(ceil(least / 2**20) * 2**20, resource)
    return _amount(ceil(least), resource)


def _share(hundredths: int) -> Tree | None:
    return Literal(hundredths / _FINE) if hundredths >= 0 else None


def _amount(amount: int, resource: str) -> Tree:
    """As the language writes it: cores and GPUs with a point, bytes by the function of their unit."""
    if resource in (CPU, GPU):
        return Literal(amount / 1000)
    if resource in (MEMORY, DISK):
        for unit, size in _BYTES:
            if amount and amount % size == 0:
                return Call(unit, (Literal(amount // size),))
    return Literal(amount)
