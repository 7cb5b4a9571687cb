"""The collector works between turns, sets aside what lasts, and still finds cycles."""

import asyncio
import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from dovetail.control.loop import garbage
from dovetail.control.loop.garbage import ServerCollector
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.store.contract import StoreError


class Node:
    """One that refers to itself is garbage that only the collector finds."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerCollector]:
    thresholds = gc.get_threshold()
    monkeypatch.setattr(garbage, "YOUNG", 100)
    monkeypatch.setattr(garbage, "TOO_MANY", 5000)
    found = ServerCollector()
    found.settle()
    yield found
    gc.set_threshold(*thresholds)


def make_many() -> list[list[int]]:
    return [[number] for number in range(1000)]


def test_few_new_objects_are_not_collected(collector: ServerCollector) -> None:
    collector.collect()
    gone = weakref.ref(Node())
    collector.collect()
    assert gone() is not None


def test_cycles_among_many_new_objects_go_and_what_lasts_is_set_aside(collector: ServerCollector) -> None:
    kept, before = [], gc.get_freeze_count()
    for _ in range(garbage.COLLECTIONS + 1):
        gone = weakref.ref(Node())
        kept.append(make_many())
        collector.collect()
        assert gone() is None
    assert gc.get_freeze_count() > before + 1000 * garbage.COLLECTIONS


def test_very_many_at_once_are_set_aside_without_a_look(collector: ServerCollector) -> None:
    gone, before = weakref.ref(Node()), gc.get_freeze_count()
    kept = [make_many() for _ in range(6)]
    collector.collect()
    assert gone() is not None
    assert gc.get_freeze_count() > before + 1000 * len(kept)


FULL_COLLECTION = """
import gc, weakref
from dovetail.control.loop import garbage

garbage.YOUNG, garbage.TOO_MANY, garbage.LEAST_FOR_FULL = 100, 5000, 0
gc.get_freeze_count = lambda: 3000

class Node:
    def __init__(self):
        self.me = self

collector = garbage.ServerCollector()
with collector.paused():
    assert not gc.isenabled()
assert gc.isenabled()
node = Node()
gone = weakref.ref(node)
gc.freeze()
del node
collector.collect_all()
assert gone() is not None, "nothing was set aside since the start"
lasting = [[[number] for number in range(1000)] for _ in range(4)]
collector.collect()
collector.collect_all()
assert gone() is None
assert lasting
"""


def test_a_full_collection_finds_cycles_that_were_set_aside_once_as_much_followed() -> None:
    """In a process of its own: it looks at every object, and this one has millions."""
    subprocess.run([sys.executable, "-c", FULL_COLLECTION], check=True)


def test_a_start_that_fails_leaves_python_its_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = ControlPlane(Settings(data=str(tmp_path), backends={}))

    def unreadable() -> NoReturn:
        assert not gc.isenabled()
        raise StoreError("the database is damaged")

    monkeypatch.setattr(plane.store, "restore", unreadable)
    with pytest.raises(StoreError, match="damaged"):
        asyncio.run(plane.start())
    assert gc.isenabled()
