"""The keys by which workloads wait, and the list of orderings."""

import math
from importlib.metadata import EntryPoint, EntryPoints
from itertools import permutations
from typing import Any

import pytest

from dovetail.model import plugin_loading
from dovetail.queueing import orderings
from dovetail.queueing.orderings import ORDERINGS, OrderingError, build_ordering
from dovetail.queueing.sorted_entries import QueueEntry


def entry(id_: int, **fields: Any) -> QueueEntry:
    return QueueEntry(id_, 1, "tenant", None, 2, 0.0)._replace(**fields)


def ids_by(name: str, *entries: QueueEntry, ageing_s: float | None = None) -> list[int]:
    key = build_ordering(name, ageing_s).key
    orders = {tuple(e.id for e in sorted(some, key=lambda e: (*key(e), e.id))) for some in permutations(entries)}
    assert len(orders) == 1, "the order must not depend on who joined first"
    return list(orders.pop())


def test_fifo_takes_them_as_they_came_whatever_their_class() -> None:
    assert ids_by("fifo", entry(1, submitted_at=9, rank=0), entry(2, submitted_at=3), entry(3, submitted_at=3)) == [
        2, 3, 1
    ]  # fmt: skip


def test_priority_takes_the_class_before_the_time() -> None:
    late, early = entry(1, rank=0, submitted_at=9), entry(2, rank=4, submitted_at=1)
    assert ids_by("priority", late, early, entry(3, rank=0, submitted_at=8)) == [3, 1, 2]


def test_with_ageing_a_class_is_worth_that_much_waiting() -> None:
    batch = entry(1, rank=4, submitted_at=0)
    just_before, just_after = (entry(id_, rank=3, submitted_at=at) for id_, at in ((2, 99), (3, 101)))
    assert ids_by("priority", batch, just_before, just_after, ageing_s=100) == [2, 1, 3]


def test_shortest_and_smallest_area_put_those_who_declare_nothing_last() -> None:
    short_wide, long_narrow = entry(1, run_s=10, share=0.9), entry(2, run_s=60, share=0.1)
    silent = entry(3, share=0.001)
    assert ids_by("shortest", short_wide, long_narrow, silent) == [1, 2, 3]
    assert ids_by("smallest_area", short_wide, long_narrow, silent) == [2, 1, 3]
    assert ids_by("smallest_area", entry(1, run_s=10), entry(2)) == [1, 2]


def test_f1_is_the_published_formula() -> None:
    found = build_ordering("f1").key(entry(1, run_s=3600, width=16, submitted_at=5000))
    assert found[0] == pytest.approx(math.log10(3600) * 16 + 870 * math.log10(5000))
    assert build_ordering("f1").key(entry(1, run_s=0, submitted_at=0))[0] == 0, "no logarithm of nothing"
    assert ids_by("f1", entry(1), entry(2, run_s=1e6, width=1000)) == [2, 1], "who declares nothing goes last"


def test_only_fair_goes_tenant_by_tenant() -> None:
    assert [name for name, ordering in ORDERINGS.items() if ordering.by_tenant] == ["fair"]


def test_an_unknown_ordering_is_answered_with_the_nearest_and_all_there_are() -> None:
    with pytest.raises(OrderingError, match=r"unknown ordering 'fiar'. Did you mean 'fair'\? Known: fifo, priority"):
        build_ordering("fiar")


class Newest:
    name = "newest"
    by_tenant = False

    def __init__(self, ageing_s: float | None = None) -> None:
        pass

    def key(self, entry: QueueEntry) -> tuple[float, ...]:
        return (-entry.submitted_at,)


class Nameless(Newest):
    name = "somebody else"


class NoAge(Newest):
    def __init__(self) -> None:
        super().__init__()


def offer(monkeypatch: pytest.MonkeyPatch, *names: str, value: str = "Newest") -> None:
    points = [EntryPoint(name, f"{__name__}:{value}", orderings.ORDERING_GROUP) for name in names]
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.value.split(":")[1]])
    monkeypatch.setattr(plugin_loading, "installed_entry_points", lambda: EntryPoints(points))
    monkeypatch.setattr(orderings, "orderings", orderings.orderings.__wrapped__)


def test_an_outsider_is_built_like_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "newest")
    assert build_ordering("newest").key(entry(1, submitted_at=5)) == (-5,)


@pytest.mark.parametrize(
    ("names", "value", "words"),
    [
        (("newest", "newest"), "Newest", "two packages offer an ordering 'newest'"),
        (("fair",), "Newest", "has the name of a built-in one"),
        (("newest",), "Nameless", "needs `name`"),
        (("newest",), "Missing", "cannot be built: KeyError"),
        (("newest",), "NoAge", "cannot be built: TypeError"),
    ],
)
def test_an_outsider_that_does_not_keep_to_the_contract_is_refused(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], value: str, words: str
) -> None:
    offer(monkeypatch, *names, value=value)
    with pytest.raises(OrderingError, match=words):
        build_ordering("newest")
