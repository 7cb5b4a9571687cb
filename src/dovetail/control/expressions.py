"""What a workload requires, looked at when it is submitted: expressions that make no sense, and contradictions.

Guarantees: a complaint about an expression shows its text with a caret under the place. Contradictions are looked for
only where every expression makes sense. A workload that requires nothing of that kind costs nothing.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dovetail.model.complaint import Complaint, field_name
from dovetail.model.constraint import Constraint
from dovetail.model.workload import Workload
from dovetail.placement.profiles import ProfileSettings

if TYPE_CHECKING:
    from dovetail.constraints.ranges import Room


def complaints_about(
    spec: Workload, source: str, profile: ProfileSettings, overcommit: Mapping[str, float]
) -> list[Complaint]:
    """Expressions that make no sense; or else requirements that no node could meet together."""
    if not (spec.constraints or spec.node_affinity.required or spec.affinity or spec.conflicts):
        return []
    found = senseless(spec.constraints, source)
    if found:
        return found
    from dovetail.constraints.contradiction import find

    contradiction = find(spec, _room(profile, overcommit))
    if contradiction is None:
        return []
    return [Complaint(source, None, field_name(contradiction.path), contradiction.message)]


def senseless(constraints: Sequence[Constraint], source: str) -> list[Complaint]:
    """A complaint for each expression that cannot be read or used."""
    if not constraints:
        return []
    from dovetail.constraints.error import ExpressionError
    from dovetail.constraints.program import compile_node
    from dovetail.constraints.structure import text_of

    found = []
    for index, constraint in enumerate(constraints):
        try:
            compile_node(text_of(constraint.expression))
        except ExpressionError as error:
            where = field_name(("constraints", index, constraint.kind.value))
            found.append(Complaint(source, None, where, str(error), detail=error.caret.partition("\n")[2]))
    return found


def _room(profile: ProfileSettings, overcommit: Mapping[str, float]) -> "Room":
    from dovetail.constraints.ranges import Room

    settings: dict[str, Any] = profile.settings.get("resources", {})
    return Room(tuple(sorted(overcommit.items())), measured=settings.get("basis") == "observed")
