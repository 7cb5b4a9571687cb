"""Made-up work: seeded, and as much of it as was asked for."""

from itertools import islice

import pytest
from pydantic import ValidationError

from dovetail.simulate.stream import RECIPES, Stream, still_running


def test_the_same_seed_gives_the_same_work_and_another_one_other_work() -> None:
    stream = Stream(rate=1, count=50)
    assert list(stream.arrivals(1)) == list(stream.arrivals(1))
    assert list(stream.arrivals(1)) != list(stream.arrivals(2))


def test_a_stream_ends_by_count_or_by_time_or_never() -> None:
    assert len(list(Stream(rate=1, count=20).arrivals(1))) == 20
    assert all(at_s <= 60 for at_s, _ in Stream(rate=1, duration=60).arrivals(1))
    assert len(list(islice(Stream(rate=1).arrivals(1), 500))) == 500


def test_arrivals_come_in_order_at_about_the_rate_with_names_of_their_own() -> None:
    found = list(Stream(rate=2, count=2000).arrivals(5))
    times = [at_s for at_s, _ in found]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(1000, rel=0.1)
    assert len({(spec.namespace, spec.name) for _, spec in found}) == 2000


def test_tenants_and_kinds_follow_their_weights() -> None:
    stream = Stream(rate=1, count=1000, tenants={"a": 3, "b": 1, "never": 0}, mix={"batch": 1}, hopeless=0)
    found = [spec for _, spec in stream.arrivals(1)]
    assert {spec.namespace for spec in found} == {"a", "b"}
    assert sum(spec.namespace == "a" for spec in found) == pytest.approx(750, rel=0.1)
    assert all(spec.name.startswith("batch-") for spec in found)


def test_the_mean_of_gpu_seconds_is_what_the_stream_really_asks_for() -> None:
    stream = Stream(rate=1, count=4000, mix={"finetuning": 2, "notebook": 1}, run_time_scale=0.5)
    asked = 0.0
    for _, spec in stream.arrivals(1):
        assert spec.run.simulate is not None
        assert spec.run.simulate.run_time is not None
        asked += spec.replicas * spec.resources.gpu * spec.run.simulate.run_time
    assert asked / 4000 == pytest.approx(stream.mean_gpu_seconds, rel=0.15)


def test_a_kind_of_work_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValidationError, match="Did you mean 'batch'"):
        Stream(rate=1, mix={"bach": 1})
    with pytest.raises(ValidationError, match="every weight is 0"):
        Stream(rate=1, tenants={"a": 0})


def test_every_recipe_makes_workloads_that_a_large_gpu_node_can_take() -> None:
    for kind in RECIPES:
        for _, spec in Stream(rate=1, count=50, mix={kind: 1}, hopeless=0).arrivals(1):
            amounts = spec.resources.amounts()
            assert amounts["cpu"] <= 128_000
            assert amounts["memory"] <= 2**40
            assert amounts.get("gpu", 0) <= 8000


def test_a_warm_start_is_about_as_full_as_the_stream_keeps_a_cluster() -> None:
    stream = Stream(rate=0.5, mix={"finetuning": 1, "notebook": 1})
    there = still_running(stream, seed=1, window_s=24 * 3600, most_gpus=10**9)
    gpus = sum(spec.replicas * spec.resources.gpu for spec in there)
    assert gpus == pytest.approx(stream.rate * stream.mean_gpu_seconds, rel=0.15)


def test_a_warm_start_never_asks_for_more_gpus_than_it_may() -> None:
    there = still_running(Stream(rate=1), seed=1, window_s=3600, most_gpus=500)
    assert 400 < sum(spec.replicas * spec.resources.gpu for spec in there) <= 500
