"""Parts of what is asked, back from the lists that JSON makes of them: the inverse of writing them."""

from typing import Any

from dovetail.model.asks import Company, Match, Relation, Selector, Term
from dovetail.model.selection import Operator


def term_from(term: list[list[Any]]) -> Term:
    return tuple([Match(key, Operator(operator), tuple(values)) for key, operator, values in term])


def selector_from(parts: list[Any]) -> Selector:
    namespaces, workload, service, term, conflict = parts
    return Selector(tuple(namespaces), workload, service, term_from(term), conflict)


def company_from(parts: list[Any]) -> Company:
    relation, whom, level, distance, count, weight, but = parts
    selectors = tuple(map(selector_from, whom))
    without = None if but is None else selector_from(but)
    return Company(Relation(relation), selectors, level, distance, count, weight, without)
