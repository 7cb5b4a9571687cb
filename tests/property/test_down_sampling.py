"""Samples that were down-sampled say the same as the samples: means are exact, gaps stay gaps, answers are bounded."""

from math import floor, inf, isclose

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.control.trends.down_sampling import HIGHEST, TIERS, Bucket, Steps, TrendTier, add, largest, window

AT = st.integers(0, 40_000).map(float)
VALUE = st.integers(-1000, 1000).map(float)
SAMPLES = st.dictionaries(AT, VALUE, max_size=60)


def buckets_of(samples: dict[float, float], tier: TrendTier, name: str) -> dict[int, Bucket]:
    found: dict[int, Bucket] = {}
    for at, value in samples.items():
        add(found.setdefault(tier.start(at), {}), {name: value})
    return found


@examples(200)
@given(SAMPLES, st.sampled_from(["cpu", *HIGHEST]), st.integers(10, TIERS[-1].keep_s), st.integers(1, 500))
def test_a_step_says_what_its_samples_say(samples: dict[float, float], name: str, since_s: int, points: int) -> None:
    now = 40_000.0
    asked = window(now, since_s, points)
    steps = Steps(asked)
    for start, bucket in buckets_of(samples, asked.tier, name).items():
        steps.take(start, bucket)
    for begin, value in zip(asked.times, steps.values(name), strict=True):
        inside = [one for at, one in samples.items() if begin <= at < begin + asked.step_s]
        if not inside:
            assert value is None, "where nothing was recorded there is no value"
        else:
            expected = max(inside) if name in HIGHEST else sum(inside) / len(inside)
            assert value is not None
            assert isclose(value, expected, abs_tol=1e-9)


@examples(200)
@given(st.floats(0, 2e9), st.floats(10, TIERS[-1].keep_s), st.integers(1, 2000))
def test_a_window_is_bounded_and_reaches_from_then_to_now(now: float, since_s: float, points: int) -> None:
    asked = window(now, since_s, points)
    assert 1 <= asked.count <= points
    assert asked.step_s % asked.tier.step_s == 0
    assert asked.start % asked.step_s == 0
    last = asked.start + asked.count * asked.step_s
    assert last - asked.step_s <= now < last, "the last step is the one that goes on now"
    assert last - asked.start >= since_s, "it reaches back as far as was asked"
    finer = [tier for tier in TIERS if tier.step_s < asked.tier.step_s]
    assert all(tier.keep_s < since_s for tier in finer), "the finest that reaches so far back"


@examples(100)
@given(st.dictionaries(st.text("abcdefg", min_size=1, max_size=2), st.lists(VALUE | st.none(), min_size=3, max_size=3)))
def test_the_smaller_ones_are_added_up(series: dict[str, list[float | None]]) -> None:
    found = largest(series, 3, "others")
    assert len(found) <= 4

    def total(of: dict[str, list[float | None]]) -> float:
        return sum(one for values in of.values() for one in values if one is not None)

    assert isclose(total(found), total(series), abs_tol=1e-9)
    kept = [name for name in found if name != "others"]
    least = min((total({name: found[name]}) for name in kept), default=inf)
    assert all(total({name: series[name]}) <= least for name in series if name not in found)


def test_buckets_of_all_tiers_begin_at_multiples_of_their_width() -> None:
    for tier in TIERS:
        assert tier.start(1_000_000_007.9) == floor(1_000_000_007 / tier.step_s) * tier.step_s
