"""Find, rank, try: the loop that every search for victims shares."""

from typing import NamedTuple

import numpy as np
from tests.unit.placement.scene import cluster_of, request_for

from dovetail.placement.contract import Request
from dovetail.placement.preemption.cheapest import cheapest
from dovetail.placement.preemption.cost import FREE, Cost


class Found(NamedTuple):
    name: str
    cost: Cost


def costing(name: str, victims: int) -> Found:
    return Found(name, FREE._replace(victims=victims))


def request() -> Request:
    return request_for(cluster_of({"name": "n", "capacity": {"cpu": 1}}), resources={"cpu": 1})


def places(count: int) -> list[Request]:
    return [request() for _ in range(count)]


def test_the_cheapest_place_wins_and_ties_go_to_the_first() -> None:
    asked = places(3)
    found = dict(zip(map(id, asked), [costing("a", 2), costing("b", 1), costing("c", 1)], strict=True))
    assert cheapest(asked, lambda place: found[id(place)]) == costing("b", 1)
    assert cheapest(asked, lambda _: None) is None
    assert cheapest([], lambda _: costing("a", 1)) is None


def test_what_does_not_fit_gives_way_to_the_next_cheapest() -> None:
    asked = places(3)
    found = dict(zip(map(id, asked), [costing("a", 3), costing("b", 1), costing("c", 2)], strict=True))
    tried: list[str] = []

    def fits(_: Request, one: Found) -> bool:
        tried.append(one.name)
        return one.name == "a"

    assert cheapest(asked, lambda place: found[id(place)], fits) == costing("a", 3)
    assert tried == ["b", "c", "a"]
    assert cheapest(asked, lambda place: found[id(place)], fits, most=2) is None


def test_after_a_trial_that_failed_other_rows_are_searched_a_few_times() -> None:
    searched: list[int] = []

    def find(place: Request) -> Found:
        left = 4 if place.among is None else int(place.among.sum())
        searched.append(left)
        return costing(str(left), 5 - left)

    def elsewhere(place: Request, one: Found) -> Request:
        other = request()
        other.among = np.arange(4) < int(one.name) - 1
        return other

    def found(searches: int) -> Found | None:
        return cheapest(places(1), find, lambda _, one: one.name == "2", elsewhere=elsewhere, searches=searches)

    assert found(2) == costing("2", 3)
    assert searched == [4, 3, 2]
    assert found(1) is None
