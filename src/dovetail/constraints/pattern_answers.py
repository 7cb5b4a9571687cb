"""Answers to `matches()`, worked out before a decision needs them.

A pattern is matched in linear time, and still one answer may take a millisecond. A cluster has thousands of labels and
names. Answers are kept by the pattern itself (`programs.functions.pattern`), so whoever asks for them on a thread
beforehand spares the scheduler that time.
"""

from collections.abc import Callable, Iterable

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.functions import pattern
from dovetail.constraints.programs.structure import text_of
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.tree import Call, Literal, Tree, children_of, label_of
from dovetail.model.workloads.workload import Workload

#: A pattern, and the key of the label that it is about; None for the name of the node.
Asked = tuple[str, str | None]


def patterns_in(spec: Workload) -> set[Asked]:
    """What its constraints match. Their expressions have been checked before."""
    found: set[Asked] = set()
    for constraint in spec.constraints:
        try:
            text = text_of(constraint.expression)
            waiting: list[Tree] = [parse(text)] if "matches" in text else []
        except ExpressionError:
            continue
        while waiting:
            tree = waiting.pop()
            waiting += children_of(tree)
            match tree:
                case Call("matches", (of, Literal(str(written)))):
                    found.add((written, label_of(of)))
    return found


def answer_all(asked: Iterable[tuple[str, list[str]]]) -> None:
    """Ask each pattern about its values, which takes as long as it takes: call this on a thread."""
    for written, values in asked:
        try:
            test: Callable[[str], bool] = pattern(written)
        except ValueError:
            continue
        for value in values:
            test(value)
