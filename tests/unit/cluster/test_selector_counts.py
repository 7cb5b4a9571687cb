"""Tallies always equal a count from scratch, however late they are made, and cost nothing until somebody asks."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.invariants import check_invariants

from dovetail.cluster import selector_counts as tallies_module
from dovetail.cluster.selector_counts import Counted, SelectorCounts, concerns, selects
from dovetail.cluster.state import Cluster
from dovetail.model.node import Node
from dovetail.model.requests.asks import AffinityRule, Match, Relation, Selector
from dovetail.model.requests.task_identity import TaskIdentity, identity_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.selection import Operator

WEB = Selector(("x",), term=(Match("app", Operator.IN, ("web",)),))
NOT_WEB = Selector((), term=(Match("app", Operator.NOT_IN, ("web",)),))
APART_FROM_WEB = AffinityRule(Relation.APART, (WEB,), "zone")
SELECTORS: list[Counted] = [
    WEB,
    NOT_WEB,
    APART_FROM_WEB,
    Selector(("x", "y"), workload="w1"),
    Selector((), workload="w2"),
    Selector((), service="front"),
    Selector(("y",), service="front", term=(Match("tier", Operator.EXISTS, ()),)),
    Selector(("x",), conflict="licence"),
    Selector(("x",), term=(Match("tier", Operator.GT, ("1",)), Match("app", Operator.IN, ("web", "db")))),
    Selector(("x",)),
    Selector(()),
]


def a_badge(r: Random) -> TaskIdentity:
    labels = [("app", r.choice(["web", "db"])), ("tier", r.choice(["1", "2"]))]
    conflict = AffinityRule(
        Relation.APART, (Selector(("x",), conflict="licence"),), but=Selector(("x",), workload="w1")
    )
    rules = tuple(rule for rule in (APART_FROM_WEB, conflict) if not r.randrange(3))
    carried = tuple(sorted(label for label in labels if r.randrange(3)))
    return identity_of(r.choice("xy"), r.choice(["w1", "w2", "w3"]), r.choice([None, "front"]), carried, rules)


def a_cluster(nodes: int = 6) -> Cluster:
    cluster = Cluster()
    for number in range(nodes):
        cluster.join(Node.model_validate({"name": f"n{number}", "capacity": {"cpu": 64, "slots": 1000}}))
    return cluster


def counted_anew(cluster: Cluster, counted: Counted) -> list[int]:
    """Straight from the definition: task by task."""
    counts = [0] * cluster.width
    for placement in cluster.placements.by_task.values():
        identity = placement.identity
        assert identity is not None
        if selects(counted, identity) if isinstance(counted, Selector) else counted in identity.repels:
            counts[placement.row] += 1
    return counts


def check(cluster: Cluster) -> None:
    for counted, selector_count in cluster.placements.selector_counts.kept.items():
        expected = counted_anew(cluster, counted)
        assert selector_count.counts[: cluster.width].tolist() == expected
        assert selector_count.total == sum(expected)
    check_invariants(cluster)


def change(r: Random, cluster: Cluster, number: int) -> None:
    column = cluster.resources.vector({"slots": 1.0})
    placed = list(cluster.placements.by_task)
    if placed and r.randrange(3) == 0:
        cluster.remove(r.choice(placed))
    else:
        cluster.place(TaskId(number, 0), r.randrange(cluster.width), column, identity=a_badge(r))


@examples(60)
@given(seed=st.integers(0, 2**32))
def test_a_tally_equals_a_count_from_scratch_whatever_comes_and_goes(seed: int) -> None:
    r = Random(seed)
    cluster = a_cluster()
    for number in range(80):
        what = r.randrange(12)
        if what == 0:
            cluster.placements.selector_count(r.choice(SELECTORS))  # late, over what is there already
        elif what == 1:
            before = [
                selector_count.counts.copy() for selector_count in cluster.placements.selector_counts.kept.values()
            ]
            with cluster.trial():
                for inner in range(4):
                    change(r, cluster, 1000 + 10 * number + inner)
                check(cluster)
            after = cluster.placements.selector_counts.kept.values()
            assert all(np.array_equal(one, other.counts) for one, other in zip(before, after, strict=True))
        elif what == 2:
            for more in range(30):  # beyond the width that the tables begin with
                cluster.join(Node.model_validate({"name": f"m{number}-{more}", "capacity": {"cpu": 1, "slots": 1000}}))
        else:
            change(r, cluster, number)
        check(cluster)


def test_nobody_counts_before_somebody_asks() -> None:
    cluster = a_cluster()
    change(Random(1), cluster, 1)
    assert not cluster.placements.selector_counts.kept
    assert cluster.placements.selector_count(Selector(())).total == 1


def test_a_tally_that_was_forgotten_for_want_of_room_is_true_again_and_known_to_be_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who remembers its version must not take it for unchanged."""
    monkeypatch.setattr(tallies_module, "KEPT_BYTES", 0)  # as few as may be
    cluster = a_cluster()
    for number in range(20):
        cluster.place(
            TaskId(number, 0), 0, cluster.resources.vector({"slots": 1.0}), identity=TaskIdentity("x", f"w{number}")
        )
    first = Selector(("x",), workload="w0")
    seen = cluster.placements.selector_count(first).version
    for number in range(1, 20):
        cluster.placements.selector_count(Selector(("x",), workload=f"w{number}"))
        check(cluster)
    kept = cluster.placements.selector_counts.kept
    assert first not in kept
    assert len(kept) < 20
    cluster.remove(TaskId(0, 0))
    again = cluster.placements.selector_count(first)
    assert (again.total, again.counts[0]) == (0, 0)
    assert again.version != seen
    change(Random(2), cluster, 99)
    check(cluster)


def test_versions_grow_with_what_concerns_a_tally_only() -> None:
    cluster = a_cluster()
    selector_count = cluster.placements.selector_count(WEB)
    before = selector_count.version
    column = cluster.resources.vector({"slots": 1.0})
    cluster.place(TaskId(1, 0), 0, column, identity=TaskIdentity("x", "w1", labels=(("app", "db"),)))
    assert selector_count.version == before
    cluster.place(TaskId(2, 0), 0, column, identity=TaskIdentity("x", "w2", labels=(("app", "web"),)))
    assert selector_count.version > before


def test_rules_of_placed_tasks_keep_those_away_that_they_are_about() -> None:
    selector_counts = SelectorCounts()
    hermit = identity_of("y", "hermit", None, (), (APART_FROM_WEB,))
    web, db = (TaskIdentity("x", "w", labels=(("app", app),)) for app in ("web", "db"))
    assert selector_counts.repelled(web) == ()
    selector_counts.count(hermit, 0, 1)
    selector_counts.count(hermit, 3, 1)
    assert selector_counts.repelled(web) == (APART_FROM_WEB,)
    assert selector_counts.repelled(db) == ()
    assert selector_counts.repelled(TaskIdentity("y", "w", labels=(("app", "web"),))) == ()
    selector_counts.count(hermit, 0, -1)
    assert selector_counts.repelled(web) == (APART_FROM_WEB,)
    selector_counts.count(hermit, 3, -1)
    assert selector_counts.repelled(web) == ()


def test_a_wish_to_be_apart_keeps_nobody_away() -> None:
    wish = APART_FROM_WEB._replace(weight=0.5)
    assert identity_of("x", "w", None, (), (wish,)).repels == ()


def test_a_member_of_a_set_is_not_concerned_by_its_own_workload() -> None:
    own = Selector(("x",), workload="one", conflict="licence")
    rule = AffinityRule(Relation.APART, (Selector(("x",), conflict="licence"),), but=own)
    member = TaskIdentity("x", "two", conflicts=frozenset({"licence"}))
    assert concerns(rule, member)
    assert not concerns(rule, TaskIdentity("x", "one", conflicts=frozenset({"licence"})))
    assert not concerns(rule, TaskIdentity("y", "two", conflicts=frozenset({"licence"})))
