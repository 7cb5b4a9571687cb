"""What keeps work from being placed, as the API sends it: the requirements that contradict, and suggestions."""

from dovetail.engine.questions.plan_questions import Impasse
from dovetail.responses.decisions import PlacementBlockers

#: Nothing blocks it, or nothing that could be changed.
NO_IMPASSE = Impasse((), True, "", ())


def blocker_fields(found: Impasse) -> PlacementBlockers:
    return {
        "core": [
            {"requirement": member.requirement, "field": member.field, "nodes_alone": member.nodes_alone}
            for member in found.core
        ],
        "core_exact": found.core_exact,
        "waits_for": found.waits_for,
        "suggestions": [
            {"words": one.words, "kind": one.kind, "patch": one.patch, "action": one.action}
            for one in found.suggestions
        ],
    }
