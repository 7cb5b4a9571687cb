"""Buckets of many things say what their samples say, to three digits, however often they were written and read."""

from math import isclose

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.control.trends.keyed_buckets import SlotBucket

SERIES = 2
VALUE = st.floats(0.001, 50_000) | st.just(0.0)
SAMPLE = st.tuples(st.integers(0, 5), VALUE | st.just(float("nan")), VALUE | st.just(float("nan")))
ROUNDS = st.lists(st.lists(SAMPLE, max_size=20), max_size=6)


@examples(150)
@given(ROUNDS)
def test_a_mean_is_that_of_all_samples(rounds: list[list[tuple[int, float, float]]]) -> None:
    content = b""
    for samples in rounds:  # each is saved, as after a minute or a restart
        fresh = SlotBucket.empty(SERIES)
        values = np.array([sample[1:] for sample in samples]).reshape(-1, SERIES)
        fresh.add(np.array([slot for slot, *_ in samples], dtype=np.intp), values)
        fresh.join(SlotBucket.read(content, SERIES))
        content = fresh.written()
    whole = SlotBucket.read(content, SERIES)
    for slot in range(6):
        sums, numbers = whole.total(np.array([slot], dtype=np.intp))
        for place in range(SERIES):
            given_ = [sample[1 + place] for samples in rounds for sample in samples if sample[0] == slot]
            there = [value for value in given_ if value == value]
            assert numbers[place] == len(there)
            if there:
                mean, most = sum(there) / len(there), max(there)
                assert isclose(sums[place] / numbers[place], mean, rel_tol=0.001, abs_tol=0.002 * most + 1e-6)


@examples(50)
@given(st.lists(st.tuples(st.integers(0, 5), VALUE), min_size=1, max_size=20))
def test_things_do_not_touch_each_other(samples: list[tuple[int, float]]) -> None:
    bucket = SlotBucket.empty(1)
    for slot, value in samples:
        bucket.add(np.array([slot], dtype=np.intp), np.array([[value]]))
    for slot in range(7):
        sums, numbers = bucket.total(np.array([slot], dtype=np.intp))
        mine = [value for one, value in samples if one == slot]
        assert numbers == [len(mine)]
        assert isclose(sums[0], sum(mine), abs_tol=1e-6)
