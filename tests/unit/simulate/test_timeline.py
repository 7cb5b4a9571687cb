"""A number over time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.simulate.ledger import SPANS, Timeline

steps = st.lists(st.tuples(st.floats(0.001, 1e6), st.floats(0, 1e6)), min_size=1, max_size=60)


def test_mean_peak_and_spans_of_a_step() -> None:
    timeline = Timeline()
    timeline.set(4.0, 1.0)
    timeline.set(1.0, 3.0)
    timeline.advance(4.0)
    assert timeline.mean == (0 + 8 + 1) / 4
    assert timeline.peak == 4.0
    assert timeline.samples() == [0.0, 4.0, 4.0, 1.0]


def test_before_any_time_has_passed_the_mean_is_the_value() -> None:
    timeline = Timeline()
    timeline.set(3.0, 0.0)
    assert timeline.mean == 3.0
    assert timeline.samples() == [3.0]


@given(steps)
def test_the_mean_is_exact_and_the_spans_stay_few(steps: list[tuple[float, float]]) -> None:
    timeline, now, area = Timeline(), 0.0, 0.0
    for length_s, value in steps:
        timeline.set(value, now)
        area += length_s * value
        now += length_s
    timeline.advance(now)
    samples = timeline.samples()
    assert timeline.mean == pytest.approx(area / now, rel=1e-6, abs=1e-6)
    assert timeline.peak == max(value for _, value in steps)
    assert len(samples) <= SPANS
    assert len(samples) * timeline.span_s >= now
    assert all(sample <= timeline.peak * (1 + 1e-6) + 1e-6 for sample in samples)
