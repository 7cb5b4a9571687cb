"""The collector works between turns, sets aside what lasts, and still finds cycles."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from dovetail.control.loop import garbage
from dovetail.control.loop.garbage import GarbageCollector


class Node:
    """One that refers to itself is garbage that only the collector finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[GarbageCollector]:
    thresholds = gc.get_threshold()
    monkeypatch.setattr(garbage, "YOUNG", 100)
    monkeypatch.setattr(garbage, "TOO_MANY", 5000)
    monkeypatch.setattr(garbage, "LEAST_FOR_FULL", 0)
    found = GarbageCollector()
    found.pause()
    found.start()
    yield found
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def make_many() -> list[list[int]]:
    return [[number] for number in range(1000)]


def test_few_new_objects_are_not_collected(collector: GarbageCollector) -> None:
    collector.collect()
    gone = weakref.ref(Node())
    collector.collect()
    assert gone() is not None


def test_cycles_among_many_new_objects_go_and_what_lasts_is_set_aside(collector: GarbageCollector) -> None:
    kept, before = [], gc.get_freeze_count()
    for _ in range(garbage.COLLECTIONS + 1):
        gone = weakref.ref(Node())
        kept.append(make_many())
        collector.collect()
        assert gone() is None
    assert gc.get_freeze_count() > before + 1000 * garbage.COLLECTIONS


def test_very_many_at_once_are_set_aside_without_a_look(collector: GarbageCollector) -> None:
    gone, before = weakref.ref(Node()), gc.get_freeze_count()
    kept = [make_many() for _ in range(6)]
    collector.collect()
    assert gone() is not None
    assert gc.get_freeze_count() > before + 1000 * len(kept)


def test_a_full_collection_finds_cycles_that_were_set_aside_once_as_much_followed(
    collector: GarbageCollector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 3000)
    collector.start()
    node = Node()
    gone = weakref.ref(node)
    gc.freeze()
    del node
    collector.collect_all()
    assert gone() is not None, "nothing was set aside since the start"
    lasting = [make_many() for _ in range(4)]
    collector.collect()
    collector.collect_all()
    assert gone() is None
    assert lasting
