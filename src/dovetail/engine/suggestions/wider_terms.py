"""Relaxing required affinity terms, so that nodes which fail all of them pass one.

The term with the fewest failing comparisons is changed in just those: a value is added, a bound is moved, or the
comparison is removed where no value would do. `cluster.labels` defines what a comparison means.
"""

from collections.abc import Mapping
from typing import Any

from dovetail.cluster.labels import value_matches
from dovetail.engine.suggestions.changes import DefinitionChange, Draft, removing
from dovetail.model.requests.asks import Match
from dovetail.model.workloads.selection import Operator

Labels = Mapping[str, str]


def widen(terms: list[dict[str, Any]], nodes: list[Labels]) -> DefinitionChange | None:
    """The change to these terms (as JSON) with which every one of the nodes, given by its labels, passes."""
    words: dict[str, None] = {}
    cost = 1.0
    current = [[dict(match) for match in term["match"]] for term in terms]
    for labels in nodes:
        if any(not _failing(term, labels) for term in current):
            continue
        at = min(range(len(current)), key=lambda i: len(_failing(current[i], labels)))
        for match in _failing(current[at], labels):
            word, mild = _relax(match, labels.get(match["key"]))
            words[word] = None
            cost = max(cost, 1.0 if mild else 2.5)
        current[at] = [match for match in current[at] if match]
    if not words:
        return None

    def edit(draft: Draft) -> None:
        kept = [{"match": term} for term in current if term]
        if len(kept) < len(current):  # a term that asks for nothing: every node passes
            removing("node_affinity", "required")(draft)
            return
        # What earlier changes of the same draft added to every term stays.
        for before, term, after in zip(terms, draft["node_affinity"]["required"], kept, strict=True):
            after["match"] += term["match"][len(before["match"]) :]
        draft["node_affinity"]["required"] = kept

    return DefinitionChange(" and ".join(words), "labels", cost + 0.1 * (len(words) - 1), edit)


def _failing(term: list[dict[str, Any]], labels: Labels) -> list[dict[str, Any]]:
    return [match for match in term if not value_matches(labels.get(match["key"]), _match(match))]


def _match(match: dict[str, Any]) -> Match:
    return Match(match["key"], Operator(match["operator"]), tuple(match.get("values", ())))


def _relax(match: dict[str, Any], value: str | None) -> tuple[str, bool]:
    """Changes a comparison so that it holds of the value, and empties it where no value would do. Returns the words,
    and whether that is a mild change."""
    key, operator = match["key"], Operator(match["operator"])
    if value is not None and operator is Operator.IN:
        match["values"] = [*match["values"], value]
        return f"allow {key} {value}", True
    if value is not None and operator is Operator.NOT_IN and len(match["values"]) > 1:
        match["values"] = [one for one in match["values"] if one != value]
        return f"allow {key} {value}", True
    if value is not None and operator in (Operator.GT, Operator.LT):
        bound = _bound(operator, value)
        if bound is not None:
            match["values"] = [bound]
            word = "lower" if operator is Operator.GT else "raise"
            return f"{word} the bound of {key} to {bound}", True
    words = f"drop {_match(match)}"
    match.clear()
    return words, False


def _bound(operator: Operator, value: str) -> str | None:
    """The nearest whole number that the value exceeds."""
    try:
        number = int(value)
    except ValueError:
        return None
    bound = str(number - 1 if operator is Operator.GT else number + 1)
    return bound if value_matches(value, Match("", operator, (bound,))) else None
