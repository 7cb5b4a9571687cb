"""Compiled expressions: programs over all nodes of a view at once, checked when they are submitted.

Guarantees: compiling never evaluates, evaluating never fails, and no step loops over nodes. A node on which the
expression is an error does not satisfy it. Programs are cached by text.
Left to others: when to evaluate again (`reads`, `non_local`, `levels` and `workloads` say what a result depends on).
"""

from functools import cached_property, lru_cache

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.constraints.programs.checking import Checker
from dovetail.constraints.programs.evaluation_context import EvaluationContext
from dovetail.constraints.programs.values import Column
from dovetail.constraints.syntax.macros import MACROS
from dovetail.constraints.syntax.parser import parse, write
from dovetail.constraints.syntax.tree import Call, Tree

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
