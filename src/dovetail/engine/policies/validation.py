"""Validates the constraints of a submitted workload or policy: invalid expressions, then contradictions.

Guarantees: a complaint about an expression shows its text with a caret under the error. Contradictions are searched
only if every expression is valid. A workload without constraints costs nothing.
"""

from collections.abc import Mapping
from typing import Any

from dovetail.constraints.contradictions.contradiction import find
from dovetail.constraints.contradictions.narrowing import ResourceCeiling
from dovetail.constraints.expression_complaints import expression_complaints, problems_of_policy
from dovetail.model.text.complaint import Complaint, field_name
from dovetail.model.workloads.workload import Workload
from dovetail.placement.pipeline.profiles import ProfileSettings

__all__ = ["problems_of", "problems_of_policy"]


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
