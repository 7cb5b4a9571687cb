"""Parts of what is asked, back from the lists that JSON makes of them: the inverse of writing them."""

from typing import Any

from dovetail.model.requests.asks import AffinityRule, Match, Relation, Selector, Term
from dovetail.model.workloads.selection import Operator


def term_from(term: list[list[Any]]) -> Term:
    return tuple([Match(key, Operator(operator), tuple(values)) for key, operator, values in term])


def selector_from(parts: list[Any]) -> Selector:
    namespaces, workload, service, term, conflict = parts
    return Selector(tuple(namespaces), workload, service, term_from(term), conflict)


def company_from(parts: list[Any]) -> AffinityRule:
    relation, whom, level, distance, count, weight, but = parts
    selectors = tuple(map(selector_from, whom))
    without = None if but is None else selector_from(but)
    return AffinityRule(Relation(relation), selectors, level, distance, count, weight, without)
