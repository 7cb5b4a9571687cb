"""Pod affinity, anti-affinity and topology spread constraints as rules about other work.

A term's namespaces are resolved here: those it names and those whose labels its selector selects. One detail of
kube-scheduler is kept, since a scheduler beside it must give the same answer: for the pod that is being placed, a
namespace selector that holds of no labels at all (`team DoesNotExist`) selects every namespace.
Left to others: reading pods again when the labels of a namespace change.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dovetail.cluster.network.domains import BY_LABEL
from dovetail.kubernetes.objects.selectors import label_term, selects
from dovetail.kubernetes_client.objects import Json
from dovetail.model.requests.asks import AffinityRule, Match, Relation, Selector, SpreadRule, Term
from dovetail.model.requests.pod_ask import NOMINATED, TERMINATING, PodAffinityRule, PodSpreadRule
from dovetail.model.workloads.selection import Operator

Namespaces = Mapping[str, Mapping[str, str]]  # labels by name
Labels = Mapping[str, str]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_FULL = 100.0  # the greatest weight there
_NOT_TERMINATING = Match(TERMINATING, Operator.DOES_NOT_EXIST, ())
_NOMINATED = Match(NOMINATED, Operator.IN, ("",))
_SPREAD_WEIGHT = 1.0
#: Stands for no namespace at all, where an empty list would mean all of them.
_NOWHERE = ("",)


class PodAffinityRules(NamedTuple):
    """`rules`: anti-affinity and preferences of the pod; `repels`: which other pods must stay away from it."""

    together: PodAffinityRule | None
    rules: tuple[AffinityRule, ...]
    repels: tuple[AffinityRule, ...]


def affinity_rules_of(affinity: Json, namespace: str, labels: Labels, namespaces: Namespaces) -> PodAffinityRules:
    near, apart = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}
    apart_terms = apart.get(REQUIRED) or ()
    placing = [_apart(term, _selector(term, namespace, namespaces, placing=True)) for term in apart_terms]
    placed = [_apart(term, _selector(term, namespace, namespaces, placing=False)) for term in apart_terms]
    wishes = [
        *_wishes(Relation.NEAR, near.get(PREFERRED) or (), namespace, namespaces),
        *_wishes(Relation.APART, apart.get(PREFERRED) or (), namespace, namespaces),
    ]
    return PodAffinityRules(
        _together(near.get(REQUIRED) or (), namespace, labels, namespaces),
        _distinct([*placing, *wishes]),
        _distinct(placed),
    )


def _distinct(rules: Iterable[AffinityRule | None]) -> tuple[AffinityRule, ...]:
    return tuple(dict.fromkeys([rule for rule in rules if rule is not None]))


def _apart(term: Json, whom: Selector | None) -> AffinityRule | None:
    return None if whom is None else AffinityRule(Relation.APART, (whom,), BY_LABEL + term["topologyKey"])


def _wishes(
    relation: Relation, terms: Iterable[Json], namespace: str, namespaces: Namespaces
) -> Iterable[AffinityRule | None]:
    for weighted in terms:
        term = weighted["podAffinityTerm"]
        whom = _selector(term, namespace, namespaces, placing=True)
        if whom is not None and weighted.get("weight"):
            yield AffinityRule(relation, (whom,), BY_LABEL + term["topologyKey"], weight=weighted["weight"] / _FULL)


def _together(terms: Sequence[Json], namespace: str, labels: Labels, namespaces: Namespaces) -> PodAffinityRule | None:
    """All terms are about the same pods: those that every term selects."""
    if not terms:
        return None
    keys = tuple(dict.fromkeys([term["topologyKey"] for term in terms]))
    whom = [_selector(term, namespace, namespaces, placing=True) for term in terms]
    spaces: set[str] | None = None  # None: all
    matches: list[Term] = []
    for one in whom:
        if one is None:
            return PodAffinityRule(None, keys, own=False)
        if one.namespaces:
            spaces = set(one.namespaces) if spaces is None else spaces & set(one.namespaces)
        matches.append(one.term)
    named = () if spaces is None else tuple(sorted(spaces)) or _NOWHERE
    selector = Selector(named, term=tuple(dict.fromkeys([match for term in matches for match in term])))
    own = (not named or namespace in named) and selects(selector.term, labels)
    return PodAffinityRule(selector, keys, own)


def _selector(term: Json, namespace: str, namespaces: Namespaces, *, placing: bool) -> Selector | None:
    """Whom a term selects; None: nobody."""
    whom = label_term(term.get("labelSelector"))
    if whom is None:
        return None
    named: Sequence[str] = term.get("namespaces") or ()
    by_labels = term.get("namespaceSelector")
    if not named and by_labels is None:
        return Selector((namespace,), term=whom)
    spaces = label_term(by_labels)
    if spaces == () or (placing and selects(spaces, {})):
        return Selector((), term=whom)
    found = {*named, *(name for name, labels in namespaces.items() if selects(spaces, labels))}
    return Selector(tuple(sorted(found)) or _NOWHERE, term=whom)


def spread_of(
    constraints: Sequence[Json], namespace: str, labels: Labels
) -> tuple[tuple[PodSpreadRule, ...], tuple[SpreadRule, ...]]:
    """Topology spread constraints: required ones, and preferences."""
    required: list[PodSpreadRule] = []
    preferred: list[SpreadRule] = []
    for constraint in constraints:
        term = _spread_term(constraint, labels)
        # An empty selector counts only the pod itself and pods that are nominated to a node, as in kube-scheduler.
        counted = (*term, _NOT_TERMINATING) if term else (_NOMINATED,)
        whom = None if term is None else Selector((namespace,), term=counted)
        if constraint["whenUnsatisfiable"] == "DoNotSchedule":
            required.append(_required_spread(constraint, whom, selects(term, labels)))
        elif term and whom is not None:
            key = BY_LABEL + constraint["topologyKey"]
            preferred.append(SpreadRule(key, constraint["maxSkew"], (whom,), weight=_SPREAD_WEIGHT))
    return tuple(required), tuple(dict.fromkeys(preferred))


def _required_spread(constraint: Json, whom: Selector | None, own: bool) -> PodSpreadRule:
    return PodSpreadRule(
        constraint["topologyKey"],
        constraint["maxSkew"],
        whom,
        own,
        constraint.get("minDomains") or 1,
        honours_affinity=(constraint.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honours_taints=(constraint.get("nodeTaintsPolicy") or "Ignore") == "Honor",
    )


def _spread_term(constraint: Json, labels: Labels) -> Term | None:
    term = label_term(constraint.get("labelSelector"))
    if term is None:
        return None
    own = [Match(key, Operator.IN, (labels[key],)) for key in constraint.get("matchLabelKeys") or () if key in labels]
    return tuple(dict.fromkeys([*own, *term]))
