"""What is wrong with the expressions of a workload or a policy, whatever the nodes are.

Guarantees: a complaint about an expression shows its text with a caret under the error. Contradictions between
expressions are left to `contradictions`.
"""

from collections.abc import Callable, Iterable, Iterator

from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_cluster, compile_node
from dovetail.constraints.programs.structure import text_of
from dovetail.model.policy import Policy
from dovetail.model.text.complaint import Complaint, field_name
from dovetail.model.workloads.constraint import Expression
from dovetail.model.workloads.workload import TaskTemplate

#: Field path, expression, and the compiler for it.
Compiled = tuple[tuple[str | int, ...], Expression, Callable[[str], object]]


def expression_complaints(spec: TaskTemplate, source: str) -> list[Complaint]:
    """Complaints about invalid expressions of a workload."""
    expressions: list[Compiled] = [
        (("constraints", index, constraint.kind.value), constraint.expression, compile_node)
        for index, constraint in enumerate(spec.constraints)
    ]
    return _compile_errors(expressions, source)


def problems_of_policy(policy: Policy) -> list[Complaint]:
    """Complaints about invalid expressions of a policy."""
    return _compile_errors(_expressions(policy), f"policy {policy.name}")


def _expressions(policy: Policy) -> Iterator[Compiled]:
    for index, rule in enumerate(policy.rules):
        at = policy.field_of(index)
        yield (*at, str(rule.kind)), rule.expression, compile_node
        for place, adjustment in enumerate(rule.adjust):
            yield (*at, "adjust", place, "when"), adjustment.when, compile_cluster
            if adjustment.until is not None:
                yield (*at, "adjust", place, "until"), adjustment.until, compile_cluster


def _compile_errors(expressions: Iterable[Compiled], source: str) -> list[Complaint]:
    found = []
    for path, expression, compile_text in expressions:
        try:
            compile_text(text_of(expression))
        except ExpressionError as error:
            place = error.caret.partition("\n")[2]
            found.append(Complaint(source, None, field_name(path), str(error), detail=place))
    return found
