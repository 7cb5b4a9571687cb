"""Entries in the order of their keys, when there are many and they leave from anywhere."""

from math import nan
from random import Random

from dovetail.queueing.sorted_entries import Item, QueueEntry, SortedEntries


def seat(id_: int, key: float) -> Item:
    return (key, id_, QueueEntry(id_, 1, "tenant", None, 2, key))


def ids(sorted_entries: SortedEntries) -> list[int]:
    return [entry.id for entry in sorted_entries.in_order()]


def test_thousands_that_come_and_leave_in_any_order_stand_by_key_then_id() -> None:
    chance, sorted_entries, waiting = Random(5), SortedEntries(), list[Item]()
    for id_ in range(6000):
        waiting.append(seat(id_, float(chance.randrange(500))))
        sorted_entries.add(waiting[-1])
        if chance.random() < 0.4:
            sorted_entries.remove(waiting.pop(chance.randrange(len(waiting))))
        assert len(sorted_entries) == len(waiting)
    waiting.sort()
    assert ids(sorted_entries) == [item[-2] for item in waiting]
    for item in waiting:
        assert sorted_entries.first is item
        sorted_entries.remove(item)
    assert sorted_entries.first is None
    assert len(sorted_entries._blocks) == 1, "what is empty is given up"


def test_those_who_come_in_order_fill_their_blocks() -> None:
    sorted_entries = SortedEntries()
    for id_ in range(5000):
        sorted_entries.add(seat(id_, float(id_)))
    assert ids(sorted_entries) == list(range(5000))
    assert len(sorted_entries._blocks) < 12


def test_a_key_that_cannot_be_compared_can_still_leave() -> None:
    sorted_entries, odd = SortedEntries(), seat(7, nan)
    sorted_entries.add(odd)
    for id_ in range(20, 0, -1):
        if id_ != 7:
            sorted_entries.add(seat(id_, float(id_)))
    sorted_entries.remove(odd)
    assert sorted(ids(sorted_entries)) == [id_ for id_ in range(1, 21) if id_ != 7]
