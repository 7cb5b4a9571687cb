"""The smallest unsatisfiable core, on sets of failed requirements."""

from itertools import combinations
from random import Random

import numpy as np

from dovetail.engine.suggestions import unsatisfiable_core
from dovetail.engine.suggestions.unsatisfiable_core import UnsatisfiableCore, minimal, signatures, smallest_core


def test_nodes_are_counted_by_what_they_fail() -> None:
    fails = np.array([[True, True, False, True], [False, True, False, False]])
    assert signatures(fails) == {0b01: 2, 0b11: 1, 0: 1}


def test_more_requirements_than_bits_of_a_word_are_kept_apart() -> None:
    fails = np.zeros((200, 2), dtype=np.bool_)
    fails[3, 0] = fails[199, 1] = True
    assert signatures(fails) == {1 << 3: 1, 1 << 199: 1}


def test_no_nodes_and_no_requirements_give_no_core() -> None:
    assert smallest_core(signatures(np.zeros((3, 0), dtype=np.bool_))) is None
    assert smallest_core(signatures(np.zeros((0, 4), dtype=np.bool_))) is None


def test_only_sets_that_contain_no_other_are_minimal() -> None:
    assert minimal([0b111, 0b001, 0b110, 0b011]) == [0b001, 0b110]


def test_where_some_node_fails_nothing_there_is_no_core() -> None:
    assert smallest_core([0b01, 0]) is None


def test_one_requirement_that_every_node_fails_is_the_core() -> None:
    assert smallest_core([0b110, 0b011, 0b010]) == UnsatisfiableCore((1,))


def test_a_core_is_as_small_as_the_best_of_all_subsets() -> None:
    r = Random(1)
    for _ in range(400):
        width = r.randint(1, 9)
        sets = [r.randint(1, 2**width - 1) for _ in range(r.randint(1, 14))]
        found = smallest_core(sets)
        assert found is not None
        assert found.exact
        assert _hits(found.members, sets)
        assert not any(_hits(fewer, sets) for fewer in combinations(range(width), len(found.members) - 1))


def test_a_search_that_is_cut_short_still_gives_a_core_and_says_so(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(unsatisfiable_core, "_MOST_STEPS", 1)
    r = Random(2)
    sets = [sum(1 << i for i in r.sample(range(30), 3)) for _ in range(60)]
    found = smallest_core(sets)
    assert found is not None
    assert not found.exact
    assert _hits(found.members, sets)


def test_very_many_different_sets_still_give_a_core(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(unsatisfiable_core, "_MOST_SETS", 10)
    r = Random(3)
    sets = [sum(1 << i for i in r.sample(range(40), r.randint(2, 5))) for _ in range(200)]
    found = smallest_core(sets)
    assert found is not None
    assert _hits(found.members, sets)


def _hits(members: tuple[int, ...], sets: list[int]) -> bool:
    chosen = sum(1 << i for i in members)
    return all(one & chosen for one in sets)
