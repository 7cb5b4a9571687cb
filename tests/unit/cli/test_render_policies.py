"""Policies, versions, violations and the affinity of services in 80 columns."""

from typing import Any

from tests.unit.cli.answers import NOW, drawn, widest

from dovetail.cli.render.policies import (
    affinity_list,
    changed_affinity,
    changed_policies,
    checked,
    mistake,
    one_policy,
    one_version,
    policy_list,
    reach,
    version_list,
    violation_list,
)
from dovetail.responses.policies import ChangedPolicy, ConstraintInForce, PolicyDetail, PolicyVersion, ViolationRow

FULL = 'domain("zone", "east").utilisation.cpu > 0.85'


def constraint(**changed: Any) -> ConstraintInForce:
    found: Any = {
        "field": "constraints[0]",
        "name": "home",
        "expression": 'node.labels.zone == "east"\n  && node.free.memory > GiB(64)',
        "asked": "prefer",
        "demand": "prefer",
        "weight": 0.8,
        "priority": None,
        "because": "",
        "since": None,
        "adjust": [{"when": FULL, "until": None, "then": "off", "on": False, "since": None, "values": ""}],
    }
    return found | changed  # type: ignore[no-any-return]


def policy(name: str = "stay-in-the-east", **changed: Any) -> PolicyDetail:
    found: Any = {
        "name": name,
        "version": 12,
        "set_at": NOW - 3600,
        "description": "near its data",
        "applies_to": {"namespaces": ["team-*", "shop"], "services": ["shop/cart"], "workloads": []},
        "in_force": [constraint()],
        "affinity": 0,
        "spread": 1,
        "conflicts": 1,
        "workloads": 1234,
        "definition": {"name": name, "spread": [{"over": "zone", "max_skew": 2}], "conflicts": ["licence"]},
    }
    return found | changed  # type: ignore[no-any-return]


def violation(replica: int = 0) -> ViolationRow:
    return {
        "workload": 7,
        "replica": replica,
        "namespace": "shop",
        "name": "cart-with-a-rather-long-name",
        "node": f"node-{replica}",
        "why": 'node.labels.zone == "west": label zone is "east", which is rather far away from it',
    }


def changed(**fields: Any) -> ChangedPolicy:
    more: Any = {"changed": True, "reconsidered": 0, "violating": 0, "violations": [], **fields}
    return policy() | more  # type: ignore[no-any-return]


def version(number: int, **fields: Any) -> PolicyVersion:
    found: Any = {
        "name": "p",
        "version": number,
        "at": NOW - 60,
        "author": "ada",
        "note": "disks are slow",
        "definition": {"name": "p", "require": "true"},
        "removed": False,
        "changed": ["constraints", "applies_to"],
    }
    return found | fields  # type: ignore[no-any-return]


def test_a_list_says_what_each_policy_says_and_to_whom_it_applies() -> None:
    adjusted = policy("off-now", in_force=[constraint(demand="off", weight=None, because="off, since …", since=NOW)])
    nobody: dict[str, list[str]] = {"namespaces": [], "services": [], "workloads": []}
    text = drawn(policy_list([policy(), adjusted, policy("named", applies_to=nobody)]))
    assert widest(text) <= 80
    for words in ("3 policies", "stay-in-the-east", "prefer node", "namespaces", "adjusted", "1234", "whoever"):
        assert words in text
    assert "no policies" in drawn(policy_list([]))


def test_one_policy_shows_each_constraint_as_it_counts_now() -> None:
    text = drawn(one_policy(policy(), NOW))
    for words in (
        "version 12, set 1h00m ago",
        "namespaces team-*, shop; service shop/cart",
        'prefer  node.labels.zone == "east" && node.free.memory > GiB(64)  (home)',
        "prefer with weight 0.8",
        "○ when",
        "{over: zone, max_skew: 2}",
        "licence",
    ):
        assert words in text
    assert widest(text) <= 80


def test_an_adjusted_constraint_says_why_and_for_how_long() -> None:
    rule: Any = constraint()["adjust"][0] | {"on": True, "since": NOW - 90, "values": "x is 0.91"}
    because = f"off, since {FULL} (x is 0.91)"
    found = constraint(demand="off", weight=None, because=because, since=NOW - 90, adjust=[rule])
    text = drawn(one_policy(policy(in_force=[found]), NOW))
    for words in ("off, for 1m30s", "because", "x is 0.91", "● when"):
        assert words in text
    assert widest(text) <= 80


def test_a_wish_with_a_priority_says_that_it_is_insisted_on() -> None:
    text = drawn(one_policy(policy(in_force=[constraint(priority=3)]), NOW))
    assert "prefer with weight 0.8, insisted on with priority 3" in text


def test_a_change_says_who_was_looked_at_again_and_what_runs_against_it() -> None:
    text = drawn(changed_policies([changed(reconsidered=3, violating=120, violations=[violation(n) for n in (0, 1)])]))
    for words in (
        "version 12; 3 waiting workloads looked at again",
        "120 tasks run against it",
        "and 118 more tasks; dovetail policy violations ",
    ):
        assert words in text
    assert widest(text) <= 80
    assert "is like that already: version 12" in drawn(changed_policies([changed(changed=False)]))


def test_violations_name_task_node_and_reason() -> None:
    text = drawn(violation_list([violation(1)]))
    assert widest(text) <= 80
    for words in ("1 task runs against it", "node-1", 'zone is "east"'):
        assert words in text
    assert drawn(violation_list([])) == "nothing runs against it"


def test_versions_say_when_by_whom_and_what_changed() -> None:
    text = drawn(version_list([version(3, removed=True, definition=None), version(2, author=""), version(1)], NOW))
    assert widest(text) <= 80
    lines = text.splitlines()
    assert lines[0] == "p: 3 versions"
    assert "removed" in lines[2]
    assert "constraints, applies_to" in lines[3]
    assert "made" in lines[4]


def test_one_version_is_shown_as_it_would_be_set_again() -> None:
    text = drawn(one_version(version(2), NOW))
    for words in ("p, version 2, set", "by ada", "disks are slow", "name: p", "require: 'true'"):
        assert words in text
    assert "removed" in drawn(one_version(version(3, removed=True, definition=None), NOW))


def test_the_affinity_of_services_is_told_in_words() -> None:
    row: Any = {
        "namespace": "shop",
        "service": "cart",
        "kind": "affinity",
        "nodes": [f"node-{n}" for n in range(30)],
        "required": False,
        "policy": "affinity.shop.cart",
        "version": 1,
        "set_at": NOW,
        "workloads": 2,
        "warnings": [],
    }
    kinds = [("affinity", False), ("affinity", True), ("antiaffinity", False), ("antiaffinity", True)]
    text = drawn(affinity_list([row | {"kind": kind, "required": required} for kind, required in kinds]))
    assert widest(text) <= 80
    for words in ("4 rules", "shop/cart", "prefers", "must be on", "avoids", "must not be on"):
        assert words in text
    more = {"changed": False, "reconsidered": 1, "violating": 1, "violations": [violation()]}
    told = drawn(changed_affinity(row | {"nodes": ["n1", "n2"]} | more))
    assert "shop/cart prefers n1, n2 already; 1 waiting workload looked at again" in told
    assert "1 task runs against it" in told
    assert "no service has an affinity" in drawn(affinity_list([]))


def test_attachments_are_told_in_words() -> None:
    assert reach({"namespaces": ["a"], "services": ["b", "c/d"], "workloads": ["e"]}) == (
        "namespace a; services b, c/d; workload e"
    )


def test_a_good_expression_is_counted_and_a_bad_one_gets_its_caret() -> None:
    failing: Any = [{"node": "n1", "why": 'label zone is "b"'}]
    text = drawn(checked({"ok": True, "nodes": {"satisfying": 3, "of": 9, "failing": failing}}))
    for words in ("good: satisfied by 3 of 9 nodes", 'label zone is "b"', "and 5 more nodes; -o wide lists them"):
        assert words in text
    assert "and" not in drawn(checked({"ok": True, "nodes": {"satisfying": 9, "of": 9, "failing": []}}))
    caret = "column 6: node has no field 'nam'\nnode.nam == 1\n     ^"
    said = drawn(mistake({"ok": False, "error": "…", "caret": caret})).splitlines()
    assert said == ["✗ column 6: node has no field 'nam'", "  node.nam == 1", "       ^"]
