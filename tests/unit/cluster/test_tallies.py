"""Tallies always equal a count from scratch, however late they are made, and cost nothing until somebody asks."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.cluster import tallies as tallies_module
from dovetail.cluster.invariants import check_invariants
from dovetail.cluster.state import Cluster
from dovetail.cluster.tallies import Counted, Tallies, concerns, selects
from dovetail.model.asks import Company, Match, Relation, Selector
from dovetail.model.badge import Badge, badge_of
from dovetail.model.node import Node
from dovetail.model.selection import Operator
from dovetail.model.task import TaskId

WEB = Selector(("x",), term=(Match("app", Operator.IN, ("web",)),))
NOT_WEB = Selector((), term=(Match("app", Operator.NOT_IN, ("web",)),))
APART_FROM_WEB = Company(Relation.APART, (WEB,), "zone")
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


def a_badge(r: Random) -> Badge:
    labels = [("app", r.choice(["web", "db"])), ("tier", r.choice(["1", "2"]))]
    conflict = Company(Relation.APART, (Selector(("x",), conflict="licence"),), but=Selector(("x",), workload="w1"))
    rules = tuple(rule for rule in (APART_FROM_WEB, conflict) if not r.randrange(3))
    carried = tuple(sorted(label for label in labels if r.randrange(3)))
    return badge_of(r.choice("xy"), r.choice(["w1", "w2", "w3"]), r.choice([None, "front"]), carried, rules)


def a_cluster(nodes: int = 6) -> Cluster:
    cluster = Cluster()
    for number in range(nodes):
        cluster.join(Node.model_validate({"name": f"n{number}", "capacity": {"cpu": 64, "slots": 1000}}))
    return cluster


def counted_anew(cluster: Cluster, counted: Counted) -> list[int]:
    """Straight from the definition: task by task."""
    counts = [0] * cluster.width
    for placement in cluster.placements.by_task.values():
        badge = placement.badge
        assert badge is not None
        if selects(counted, badge) if isinstance(counted, Selector) else counted in badge.repels:
            counts[placement.row] += 1
    return counts


def check(cluster: Cluster) -> None:
    for counted, tally in cluster.placements.tallies.kept().items():
        expected = counted_anew(cluster, counted)
        assert tally.counts[: cluster.width].tolist() == expected
        assert tally.total == sum(expected)
    check_invariants(cluster)


def change(r: Random, cluster: Cluster, number: int) -> None:
    column = cluster.resources.vector({"slots": 1.0})
    placed = list(cluster.placements.by_task)
    if placed and r.randrange(3) == 0:
        cluster.remove(r.choice(placed))
    else:
        cluster.place(TaskId(number, 0), r.randrange(cluster.width), column, badge=a_badge(r))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_a_tally_equals_a_count_from_scratch_whatever_comes_and_goes(seed: int) -> None:
    r = Random(seed)
    cluster = a_cluster()
    for number in range(80):
        what = r.randrange(12)
        if what == 0:
            cluster.placements.tally(r.choice(SELECTORS))  # late, over what is there already
        elif what == 1:
            before = [tally.counts.copy() for tally in cluster.placements.tallies.kept().values()]
            with cluster.trial():
                for inner in range(4):
                    change(r, cluster, 1000 + 10 * number + inner)
                check(cluster)
            after = cluster.placements.tallies.kept().values()
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
    assert not cluster.placements.tallies.kept()
    assert cluster.placements.tally(Selector(())).total == 1


def test_a_tally_that_was_forgotten_for_want_of_room_is_true_again_and_known_to_be_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who remembers its version must not take it for unchanged."""
    monkeypatch.setattr(tallies_module, "KEPT_BYTES", 0)  # as few as may be
    cluster = a_cluster()
    for number in range(20):
        cluster.place(TaskId(number, 0), 0, cluster.resources.vector({"slots": 1.0}), badge=Badge("x", f"w{number}"))
    first = Selector(("x",), workload="w0")
    seen = cluster.placements.tally(first).version
    for number in range(1, 20):
        cluster.placements.tally(Selector(("x",), workload=f"w{number}"))
        check(cluster)
    kept = cluster.placements.tallies.kept()
    assert first not in kept
    assert len(kept) < 20
    cluster.remove(TaskId(0, 0))
    again = cluster.placements.tally(first)
    assert (again.total, again.counts[0]) == (0, 0)
    assert again.version != seen
    change(Random(2), cluster, 99)
    check(cluster)


def test_versions_grow_with_what_concerns_a_tally_only() -> None:
    cluster = a_cluster()
    tally = cluster.placements.tally(WEB)
    before = tally.version
    column = cluster.resources.vector({"slots": 1.0})
    cluster.place(TaskId(1, 0), 0, column, badge=Badge("x", "w1", labels=(("app", "db"),)))
    assert tally.version == before
    cluster.place(TaskId(2, 0), 0, column, badge=Badge("x", "w2", labels=(("app", "web"),)))
    assert tally.version > before


def test_rules_of_placed_tasks_keep_those_away_that_they_are_about() -> None:
    tallies = Tallies()
    hermit = badge_of("y", "hermit", None, (), (APART_FROM_WEB,))
    web, db = (Badge("x", "w", labels=(("app", app),)) for app in ("web", "db"))
    assert tallies.repelled(web) == ()
    tallies.count(hermit, 0, 1)
    tallies.count(hermit, 3, 1)
    assert tallies.repelled(web) == (APART_FROM_WEB,)
    assert tallies.repelled(db) == ()
    assert tallies.repelled(Badge("y", "w", labels=(("app", "web"),))) == ()
    tallies.count(hermit, 0, -1)
    assert tallies.repelled(web) == (APART_FROM_WEB,)
    tallies.count(hermit, 3, -1)
    assert tallies.repelled(web) == ()


def test_a_wish_to_be_apart_keeps_nobody_away() -> None:
    wish = APART_FROM_WEB._replace(weight=0.5)
    assert badge_of("x", "w", None, (), (wish,)).repels == ()


def test_a_member_of_a_set_is_not_concerned_by_its_own_workload() -> None:
    own = Selector(("x",), workload="one", conflict="licence")
    rule = Company(Relation.APART, (Selector(("x",), conflict="licence"),), but=own)
    member = Badge("x", "two", conflicts=frozenset({"licence"}))
    assert concerns(rule, member)
    assert not concerns(rule, Badge("x", "one", conflicts=frozenset({"licence"})))
    assert not concerns(rule, Badge("y", "two", conflicts=frozenset({"licence"})))
