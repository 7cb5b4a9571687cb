"""Entries in the order of their keys, when there are many and they leave from anywhere."""

from math import nan
from random import Random

from dovetail.queueing.entry import QueueEntry
from dovetail.queueing.seats import Item, Seats


def seat(id_: int, key: float) -> Item:
    return (key, id_, QueueEntry(id_, 1, "tenant", None, 2, key))


def ids(seats: Seats) -> list[int]:
    return [entry.id for entry in seats.in_order()]


def test_thousands_that_come_and_leave_in_any_order_stand_by_key_then_id() -> None:
    chance, seats, waiting = Random(5), Seats(), list[Item]()
    for id_ in range(6000):
        waiting.append(seat(id_, float(chance.randrange(500))))
        seats.add(waiting[-1])
        if chance.random() < 0.4:
            seats.remove(waiting.pop(chance.randrange(len(waiting))))
        assert len(seats) == len(waiting)
    waiting.sort()
    assert ids(seats) == [item[-2] for item in waiting]
    for item in waiting:
        assert seats.first is item
        seats.remove(item)
    assert seats.first is None
    assert len(seats._blocks) == 1, "what is empty is given up"


def test_those_who_come_in_order_fill_their_blocks() -> None:
    seats = Seats()
    for id_ in range(5000):
        seats.add(seat(id_, float(id_)))
    assert ids(seats) == list(range(5000))
    assert len(seats._blocks) < 12


def test_a_key_that_cannot_be_compared_can_still_leave() -> None:
    seats, odd = Seats(), seat(7, nan)
    seats.add(odd)
    for id_ in range(20, 0, -1):
        if id_ != 7:
            seats.add(seat(id_, float(id_)))
    seats.remove(odd)
    assert sorted(ids(seats)) == [id_ for id_ in range(1, 21) if id_ != 7]
