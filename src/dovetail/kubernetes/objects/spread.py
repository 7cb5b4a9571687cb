"""Topology spread constraints: required ones, and preferences."""

from collections.abc import Mapping
from typing import Any

from dovetail.cluster.network.domains import BY_LABEL
from dovetail.kubernetes.objects.selectors import label_term, selects
from dovetail.model.requests.asks import Match, Selector, SpreadRule, Term
from dovetail.model.requests.pod_ask import NOMINATED, TERMINATING, PodSpreadRule
from dovetail.model.workloads.selection import Operator

Json = Mapping[str, Any]

#: Who is on its way out does not count.
_STAYS = Match(TERMINATING, Operator.DOES_NOT_EXIST, ())
_COMES = Match(NOMINATED, Operator.IN, ("",))
_WISH = 1.0


def spread_of(
    constraints: list[Json], namespace: str, labels: Mapping[str, str]
) -> tuple[tuple[PodSpreadRule, ...], tuple[SpreadRule, ...]]:
    """Required constraints, and preferences."""
    firm: list[PodSpreadRule] = []
    wishes: list[SpreadRule] = []
    for constraint in constraints:
        term = _term(constraint, labels)
        # An empty selector counts nobody but the pod itself and who is yet to come, as in kube-scheduler.
        whom = None if term is None else Selector((namespace,), term=(*term, _STAYS) if term else (_COMES,))
        if constraint["whenUnsatisfiable"] == "DoNotSchedule":
            firm.append(_firm(constraint, whom, selects(term, labels)))
        elif term and whom is not None:
            key = BY_LABEL + constraint["topologyKey"]
            wishes.append(SpreadRule(key, constraint["maxSkew"], (whom,), weight=_WISH))
    return tuple(firm), tuple(dict.fromkeys(wishes))


def _firm(constraint: Json, whom: Selector | None, own: bool) -> PodSpreadRule:
    return PodSpreadRule(
        constraint["topologyKey"],
        constraint["maxSkew"],
        whom,
        own,
        constraint.get("minDomains") or 1,
        honours_affinity=(constraint.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honours_taints=(constraint.get("nodeTaintsPolicy") or "Ignore") == "Honor",
    )


def _term(constraint: Json, labels: Mapping[str, str]) -> Term | None:
    term = label_term(constraint.get("labelSelector"))
    if term is None:
        return None
    own = [Match(key, Operator.IN, (labels[key],)) for key in constraint.get("matchLabelKeys") or () if key in labels]
    return tuple(dict.fromkeys([*own, *term]))
