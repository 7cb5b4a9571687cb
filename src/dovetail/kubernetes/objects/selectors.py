"""Kubernetes selectors as terms of the engine: of pods by labels, of nodes by labels and fields.

A term is a tuple of comparisons that must all hold; an empty term holds for everything. None is a selector that nothing
satisfies.
"""

from collections.abc import Mapping, Sequence

from dovetail.cluster.labels import value_matches
from dovetail.kubernetes_client.objects import Json
from dovetail.model.requests.asks import Match, Term
from dovetail.model.requests.pod_ask import NODE_NAME
from dovetail.model.workloads.selection import Operator

_OPERATORS = {str(operator): operator for operator in Operator}
_NUMERIC = (Operator.GT, Operator.LT)
_VALUELESS = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
#: Of a node selector of which no term can hold.
NEVER: Term = (Match(NODE_NAME, Operator.IN, ()),)


def label_term(selector: Json | None) -> Term | None:
    """A missing label selector selects nothing, an empty one everything."""
    if selector is None:
        return None
    found = [Match(key, Operator.IN, (value,)) for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for requirement in selector.get("matchExpressions") or ():
        match = _match(requirement)
        if match is None or match.operator in _NUMERIC:
            return None
        found.append(match)
    return tuple(dict.fromkeys(found))


def selects(term: Term | None, labels: Mapping[str, str]) -> bool:
    return term is not None and all(value_matches(labels.get(match.key), match) for match in term)


def node_terms(selector: Json | None, *, fields: bool = True) -> tuple[Term, ...] | None:
    """The terms of a node selector, of which one must hold; None: there is no selector. Without `fields` conditions on
    a node's fields are ignored, as for volumes."""
    if selector is None:
        return None
    terms = selector.get("nodeSelectorTerms") or ()
    return tuple([one for term in terms if (one := node_term(term, fields=fields)) is not None]) or (NEVER,)


def node_term(term: Json, *, fields: bool = True) -> Term | None:
    expressions: Sequence[Json] = term.get("matchExpressions") or ()
    by_field: Sequence[Json] = term.get("matchFields") or ()
    if not expressions and not by_field:
        return None
    found = [_match(requirement) for requirement in expressions]
    found += [_field(requirement) for requirement in by_field] if fields else []
    return None if None in found else tuple([match for match in found if match is not None])


def _match(requirement: Json) -> Match | None:
    operator = _OPERATORS.get(requirement.get("operator") or "")
    values = tuple(requirement.get("values") or ())
    if operator is None or (operator in (Operator.IN, Operator.NOT_IN) and not values):
        return None
    if operator in _NUMERIC and len(values) != 1:
        return None
    return Match(requirement["key"], operator, () if operator in _VALUELESS else values)


def _field(requirement: Json) -> Match | None:
    """The name is the only field that nodes can be selected by."""
    operator, values = _OPERATORS.get(requirement.get("operator") or ""), tuple(requirement.get("values") or ())
    if requirement.get("key") != "metadata.name" or len(values) != 1:
        return None
    return Match(NODE_NAME, operator, values) if operator in (Operator.IN, Operator.NOT_IN) else None
