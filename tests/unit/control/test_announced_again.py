"""A node that its backend announces again is as the backend says, with what people added to it."""

from typing import Any

from dovetail.control.backends.announcements import Announced, announced_again
from dovetail.model.node import Node


def node(labels: dict[str, str], *taints: str) -> Node:
    fields: dict[str, Any] = {
        "name": "n1",
        "labels": labels,
        "taints": [{"key": t, "effect": "NoSchedule"} for t in taints],
    }
    return Node.model_validate(fields)


def said(node: Node) -> Announced:
    return Announced(labels=node.labels, taints=node.taints)


def test_what_the_backend_withdraws_goes_and_what_people_added_stays() -> None:
    first = node({"zone": "a", "pool": "x"}, "not-ready")
    stored = node({"zone": "a", "pool": "x", "owner": "ann"}, "not-ready", "reserved")
    found = announced_again(node({"zone": "b"}), stored, said(first))
    assert found.labels == {"zone": "b", "owner": "ann"}
    assert [taint.key for taint in found.taints] == ["reserved"]


def test_what_people_changed_is_not_withdrawn_with_it() -> None:
    stored = node({"pool": "mine"}, "reserved")
    assert announced_again(node({}), stored, said(node({"pool": "x"}))).labels == {"pool": "mine"}


def test_where_nobody_remembers_what_it_said_everything_stays() -> None:
    found = announced_again(node({"zone": "b"}), node({"zone": "a", "pool": "x"}, "reserved"))
    assert found.labels == {"zone": "b", "pool": "x"}
    assert [taint.key for taint in found.taints] == ["reserved"]
