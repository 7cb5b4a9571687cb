"""An impasse as the API tells it: the core and the suggestions, beside the sentence."""

from typing import Any

from dovetail.engine.suggestions.suggestions import Impasse

#: Nothing keeps it, or nothing that could be changed.
NO_IMPASSE = Impasse((), True, "", ())


def impasse_dict(found: Impasse) -> dict[str, Any]:
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
