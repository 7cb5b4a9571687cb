"""Parked work in order, when much of it came, left and came back."""

from math import nan
from random import Random

from dovetail.queueing.heaps import ParkedHeap


def test_thousands_stand_by_key_then_id_also_those_that_came_back() -> None:
    chance, parked, inside = Random(3), ParkedHeap(), dict[int, tuple[float, ...]]()
    for _ in range(6000):
        id_ = chance.randrange(2500)
        if id_ in inside and chance.random() < 0.5:
            parked.drop(id_)
            del inside[id_]
        elif id_ not in inside:
            inside[id_] = (float(id_ % 7),)  # often the key it had before: the heap then holds it twice
            parked.push(id_, inside[id_])
    expected = sorted((key, id_) for id_, key in inside.items())
    assert len(expected) > 1000
    assert list(parked.items()) == expected
    assert list(parked) == [id_ for _, id_ in expected]


def test_the_first_are_found_without_sorting_all() -> None:
    class Counting(float):
        compared = 0

        def __lt__(self, other: float) -> bool:
            Counting.compared += 1
            return super().__lt__(other)

    parked = ParkedHeap()
    for id_ in range(20_000):
        parked.push(id_, (Counting(id_ * 7919 % 20_011),))
    Counting.compared = 0
    walk = iter(parked)
    assert [next(walk) for _ in range(3)] == sorted(range(20_000), key=lambda id_: id_ * 7919 % 20_011)[:3]
    assert Counting.compared < 100


def test_a_key_that_cannot_be_compared_hides_nobody() -> None:
    parked = ParkedHeap()
    for id_ in range(2000):
        parked.push(id_, (nan if id_ == 7 else float(-id_),))
    assert sorted(parked) == list(range(2000))
