"""Policies as they are written: the short form, what contradicts itself, and attachments."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.model.policy import Policy, PolicyScope
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.constraint import ConstraintKind

FULL = "cluster.utilisation.cpu > 0.85"


def policy(**fields: Any) -> Policy:
    return Policy.model_validate({"name": "rule", **fields})


def complaints(**fields: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as raised:
        policy(**fields)
    return {one.field: one.message for one in complaints_of(raised.value, Policy)}


def test_a_single_constraint_may_stand_at_the_top() -> None:
    short = policy(prefer="node.load < 0.5", weight=0.3, priority=2, adjust=[{"when": FULL, "off": True}])
    long = policy(constraints=[{"prefer": "node.load < 0.5", "weight": 0.3, "priority": 2, "adjust": short.adjust}])
    assert short.rules == long.rules
    assert (short.rules[0].kind, short.rules[0].weight) == (ConstraintKind.PREFER, 0.3)
    assert (short.field_of(0), long.field_of(0)) == ((), ("constraints", 0))
    assert short.adjusts
    assert not policy(require="true").adjusts


def test_what_was_written_is_what_is_kept() -> None:
    given = {"name": "rule", "avoid": "true", "adjust": [{"when": FULL, "weight": 0.5}]}
    again = Policy.model_validate_json(Policy.model_validate(given).model_dump_json(exclude_unset=True))
    assert again == Policy.model_validate(given)
    assert again.model_dump(mode="json", exclude_unset=True) == given


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({}, "", "is empty"),
        ({"require": "true", "prefer": "true"}, "prefer", "cannot be combined with require"),
        ({"require": "true", "constraints": [{"prefer": "true"}]}, "constraints", "cannot be combined with require"),
        ({"require": "true", "weight": 0.5}, "weight", "has no weight"),
        ({"require": "true", "priority": 3}, "priority", "has no weight or priority"),
        ({"spread": [{"over": "zone"}], "weight": 1}, "weight", "requires require, prefer or avoid at the top"),
        ({"constraints": [{}]}, "constraints[0]", "exactly one of"),
        ({"prefer": "true", "weight": 1.5}, "weight", "is too large"),
        ({"require": "true", "applies_to": {"services": ["a/b/c"]}}, "applies_to.services[0]", "is not a name"),
        ({"require": "true", "applies_to": {"namespaces": ["a b"]}}, "applies_to.namespaces[0]", "team-*"),
        ({"require": "true", "tolerations": []}, "tolerations", "unknown"),
    ],
)
def test_what_cannot_be_meant_is_named(fields: dict[str, Any], field: str, words: str) -> None:
    found = complaints(**fields)
    assert words in found.get(field, f"nothing about {field!r}: {found}")


@pytest.mark.parametrize(
    ("demand", "rule", "field", "words"),
    [
        ("prefer", {}, "", "has no effect"),
        ("prefer", {"off": False}, "", "has no effect"),
        ("prefer", {"off": True, "weight": 0.5}, "off", "cannot be combined with weight"),
        ("prefer", {"become": "prefer"}, "become", "is what the constraint is already"),
        ("prefer", {"become": "require", "weight": 0.5}, "weight", "has no weight"),
        ("avoid", {"become": "require"}, "become", "would require what is avoided"),
        ("require", {"become": "avoid"}, "become", "would avoid what is required"),
        ("require", {"weight": 0.2}, "weight", "needs become: prefer"),
    ],
)
def test_an_adjustment_says_what_then_and_changes_something(
    demand: str, rule: dict[str, Any], field: str, words: str
) -> None:
    at_top, inside = f"adjust[0]{field and '.' + field}", f"constraints[0].adjust[0]{field and '.' + field}"
    found = complaints(**{demand: "true", "adjust": [{"when": FULL, **rule}]})
    assert words in found.get(at_top, str(found))
    found = complaints(constraints=[{demand: "true", "adjust": [{"when": FULL, **rule}]}])
    assert words in found.get(inside, str(found))


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"off": True}, "off"),
        ({"weight": 0.2}, "weight 0.2"),
        ({"become": "require"}, "become require"),
        ({"become": "avoid", "weight": 0.5}, "become avoid with weight 0.5"),
    ],
)
def test_an_adjustment_can_be_said_in_words(rule: dict[str, Any], words: str) -> None:
    assert policy(prefer="true", adjust=[{"when": FULL, **rule}]).adjust[0].words == words


def test_attachments_come_and_go_each_once() -> None:
    reach = PolicyScope(namespaces=["team-*"], services=["cart"])
    more = reach.with_more(PolicyScope(services=["cart", "shop/cart"], workloads=["db"]))
    assert more == PolicyScope(namespaces=["team-*"], services=["cart", "shop/cart"], workloads=["db"])
    assert more.without(PolicyScope(services=["cart"], namespaces=["team-*"])) == PolicyScope(
        services=["shop/cart"], workloads=["db"]
    )
    assert reach.missing(PolicyScope(namespaces=["team-*"], services=["cat"], workloads=["db"])) == [
        "service cat",
        "workload db",
    ]
    assert not PolicyScope()
