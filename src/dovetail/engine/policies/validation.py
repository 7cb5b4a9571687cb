"""Validates the constraints of a submitted workload or policy: invalid expressions, then contradictions.

Guarantees: a complaint about an expression shows its text with a caret under the error. Contradictions are searched
only if every expression is valid. A workload without constraints costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dovetail.constraints.contradictions.contradiction import find
from dovetail.constraints.contradictions.narrowing import ResourceCeiling
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_cluster, compile_node
from dovetail.constraints.programs.structure import text_of
from dovetail.model.policy import Policy
from dovetail.model.text.complaint import Complaint, field_name
from dovetail.model.workloads.constraint import Expression
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import ProfileSettings

#: Field path, expression, and the compiler for it.
Compiled = tuple[tuple[str | int, ...], Expression, Callable[[str], object]]


def problems_of(
    spec: Workload, source: str, profile: ProfileSettings, overcommit: Mapping[str, float]
) -> list[Complaint]:
    """Complaints about invalid expressions; if there are none, about requirements that no node can meet together."""
    if not (spec.constraints or spec.node_affinity.required or spec.affinity or spec.conflicts):
        return []
    if found := expression_complaints(spec, source):
        return found
    resources: dict[str, Any] = profile.settings.get("resources", {})
    ceiling = ResourceCeiling(tuple(sorted(overcommit.items())), measured=resources.get("basis") == "observed")
    contradiction = find(spec, ceiling)
    if contradiction is None:
        return []
    return [Complaint(source, None, field_name(contradiction.path), contradiction.message)]


def expression_complaints(spec: Workload, source: str) -> list[Complaint]:
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
