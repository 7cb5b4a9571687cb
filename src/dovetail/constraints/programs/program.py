"""Compiled expressions: programs over all nodes of a view at once, checked when they are submitted, and in one line why
one does not hold on a node.

Guarantees: compiling never evaluates, evaluating never fails, and no step loops over nodes. A node on which the
expression is an error does not satisfy it. Programs are cached by text.
Left to others: when to evaluate again (`reads`, `non_local`, `levels` and `workloads` say what a result depends on).
"""

from functools import cached_property, lru_cache

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.checking import Checker
from dovetail.constraints.programs.evaluation_context import AMOUNTS, UTILISATION, EvaluationContext
from dovetail.constraints.programs.values import DOUBLE, INT, STRING, Column, Items, Sets, Strings, Value
from dovetail.constraints.programs.vocabulary import readings
from dovetail.constraints.syntax.macros import MACROS
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.tree import Call, Index, Literal, Name, Select, Tree, children_of, label_of
from dovetail.constraints.syntax.writer import write, write_string
from dovetail.model.resources import CPU, GPU, show_amount

KEPT = 4096


class NodeProgram:
    """A condition about each node."""

    def __init__(self, text: str, tree: Tree) -> None:
        checker = Checker(text)
        self._part = checker.condition(tree)
        self.source, self.tree = text, tree
        self.reads = frozenset(checker.notes.reads)
        self.non_local = checker.notes.non_local
        self.levels = frozenset(checker.notes.levels)
        self.workloads = frozenset(checker.notes.workloads)

    @cached_property
    def text(self) -> str:
        """As it was written; of a part of an expression, that part."""
        span = self.tree.span
        if any(f".{macro}(" in self.source for macro in MACROS):  # what was unrolled does not stand there
            return write(self.tree)
        return self.source[span.start : span.end].strip() if span.end else self.source.strip()

    def holds(self, view: View, namespace: str) -> B1 | bool:
        """Where it is true; a plain bool when that is the same on all nodes."""
        found = self._run(view, namespace).data
        return found if found.ndim else bool(found)

    def evaluate(self, view: View, namespace: str) -> tuple[B1, B1]:
        """Where it is true, and where it is an error: one bool a node each."""
        found = self._run(view, namespace)
        true, error = (np.broadcast_to(one, (view.size,)) for one in found)
        return true, error

    def _run(self, view: View, namespace: str) -> Column:
        found = self._part.run(EvaluationContext(view, namespace))
        assert isinstance(found, Column), "a condition"
        return found

    @cached_property
    def parts(self) -> "tuple[NodeProgram, ...]":
        """The conditions that are joined by `&&` at the top; itself, if there is only one."""
        if isinstance(self.tree, Call) and self.tree.name == "&&" and not self.tree.method:
            return tuple([NodeProgram(self.source, arg) for arg in self.tree.args])
        return (self,)


class ClusterProgram:
    """A condition about the whole cluster."""

    def __init__(self, text: str, tree: Tree) -> None:
        checker = Checker(text, of_cluster=True)
        self._part = checker.condition(tree)
        self.text, self.tree = text.strip(), tree
        self.source = text

    def holds(self, view: View, waiting: int = 0) -> bool:
        """An error counts as not holding. `waiting` is how many tasks wait."""
        found = self._part.run(EvaluationContext(view, "", waiting))
        assert isinstance(found, Column), "a condition"
        return bool(found.data)


@lru_cache(maxsize=KEPT)
def compile_node(text: str) -> NodeProgram:
    """Raises ExpressionError."""
    return NodeProgram(text, parse(text))


@lru_cache(maxsize=KEPT)
def compile_cluster(text: str) -> ClusterProgram:
    """Raises ExpressionError."""
    return ClusterProgram(text, parse(text))


MOST_SHOWN = 6


def why_not(program: NodeProgram, view: View, namespace: str, position: int) -> str:
    """Which parts do not hold on the node at this position of the view, with the values found there."""
    here = view.subset(np.array([position], dtype=np.intp))
    failing = [part for part in program.parts if not np.all(part.holds(here, namespace))]
    return "; ".join([_failure(part, EvaluationContext(here, namespace)) for part in failing]) or "it holds here"


def cluster_values(program: ClusterProgram, view: View, waiting: int = 0) -> str:
    """What a condition reads, with its values now, for the log."""
    scene = EvaluationContext(view, "", waiting)
    found = []
    for tree in readings(program.tree)[:MOST_SHOWN]:
        value = _value(tree, program.source, scene, of_cluster=True)
        found.append(f"{write(tree)} is {_shown(tree, value)}")
    return ", ".join(found)


def _failure(part: NodeProgram, scene: EvaluationContext) -> str:
    error = _first_error(part.tree, part.source, scene)
    if error is not None:
        return error if error.startswith("label ") else f"{part.text}: {error}"
    said = [_said(tree, _value(tree, part.source, scene)) for tree in readings(part.tree)[:MOST_SHOWN]]
    return f"{part.text}: {', '.join(said)}" if said else f"{part.text} never holds"


def _said(tree: Tree, value: Value) -> str:
    key = label_of(tree)
    if key is not None:
        return f"label {key} is missing" if np.any(value.error) else f"label {key} is {_shown(tree, value)}"
    match tree:
        case Select(_, key, True) | Call("in", (Literal(str(key)), _)):
            return f"label {key} is {'there' if _one(value) else 'missing'}"
        case Select(Select(Name("node"), what), _) if what in ("free", "allocated", "observed"):
            return f"{_shown(tree, value)} {what}"
    return f"{write(tree)} is {_shown(tree, value)}"


def _value(tree: Tree, source: str, scene: EvaluationContext, *, of_cluster: bool = False) -> Value:
    return Checker(source, of_cluster=of_cluster).value(tree).run(scene)


def _one(value: Value) -> bool | int | float | str | list[str]:
    """The value, which is that of one node."""
    if isinstance(value, Strings):
        return value.values[int(value.codes.reshape(-1)[0])]
    if isinstance(value, Sets):
        return list(value.sets[int(value.codes.reshape(-1)[0])])
    assert isinstance(value, Column)
    found: bool | int | float = value.data.reshape(-1)[0].item()
    return found


def _shown(tree: Tree, value: Value) -> str:
    if isinstance(value, Items):
        return write(tree)
    found = _one(value)
    if isinstance(found, list):
        return f"[{', '.join(map(write_string, found))}]"
    if isinstance(found, str):
        return write_string(found)
    if isinstance(found, bool):
        return "true" if found else "false"
    match tree:
        case Select(Select(_, what), resource) | Index(Select(_, what), Literal(str(resource))) if what in AMOUNTS:
            return show_amount(resource, found * 1000 if resource in (CPU, GPU) else found)
        case Select(Select(_, what), _) if what == UTILISATION:
            return f"{found:.2f}"
    return f"{found:g}" if isinstance(found, float) else str(found)


def _first_error(tree: Tree, source: str, scene: EvaluationContext) -> str | None:
    """What makes the tree an error on this node, or None if it is none."""
    try:
        value = _value(tree, source, scene)
    except ValueError:  # a thing such as `node.labels`, which is no value
        return None
    if not np.any(value.error):
        return None
    if isinstance(tree, Call) and tree.name == "?:":
        condition = _first_error(tree.args[0], source, scene)
        if condition is not None:
            return condition
        taken = tree.args[1] if _one(_value(tree.args[0], source, scene)) else tree.args[2]
        return _first_error(taken, source, scene)
    key = label_of(tree)
    if key is not None:
        return f"label {key} is missing"
    for child in children_of(tree):
        inner = _first_error(child, source, scene)
        if inner is not None:
            return inner
    return _own_error(tree, source, scene)


def _own_error(tree: Tree, source: str, scene: EvaluationContext) -> str:
    """Its arguments are all right, but it is not."""
    assert isinstance(tree, Call)
    if tree.name in ("/", "%") and _one(_value(tree.args[1], source, scene)) == 0:
        return f"{write(tree)} divides by zero"
    kind = Checker(source).value(tree.args[0]).type
    if kind == STRING:
        wanted = {"int": "whole number", "double": "number", "bool": "true or false"}.get(tree.name, "value")
        given = _one(_value(tree.args[0], source, scene))
        assert isinstance(given, str)
        return f"{write(tree)} fails: {write_string(given)} is no {wanted}"
    assert kind in (INT, DOUBLE)
    return f"{write(tree)} does not fit into 64 bits"
