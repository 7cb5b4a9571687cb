"""The fate of an attempt: the same every time, with the shares and times that the settings ask for."""

import statistics
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dovetail.backends.simulated.rehearsal import chances, rehearse
from dovetail.backends.simulated.settings import RehearsalSettings
from dovetail.model.workloads.workload import Workload


def workload(**fields: Any) -> Workload:
    return Workload.model_validate({"name": "w"} | fields)


def settings(**fields: Any) -> RehearsalSettings:
    return RehearsalSettings.model_validate(fields)


def test_the_same_seed_and_key_have_the_same_fate_whatever_is_asked_between() -> None:
    keys = [f"{number}.0.1" for number in range(200)]
    forward = {key: rehearse(7, key, workload(), settings(failure_rate=0.5)) for key in keys}
    backward = {key: rehearse(7, key, workload(), settings(failure_rate=0.5)) for key in reversed(keys)}
    assert forward == backward


def test_a_fate_is_the_same_in_every_process() -> None:
    fate = rehearse(0, "1.0.0", workload(), settings())
    assert fate.run_time_s is not None
    assert round(fate.run_time_s, 6) == 48.015627  # written down: a change here changes every recorded simulation


def test_another_seed_or_another_attempt_has_another_fate() -> None:
    fates = {rehearse(seed, f"1.0.{attempt}", workload(), settings()) for seed in range(10) for attempt in range(10)}
    assert len(fates) == 100


@given(st.integers(), st.text())
def test_chance_is_never_quite_zero_or_one(seed: int, name: str) -> None:
    assert all(0.0 < chance < 1.0 for chance in chances(seed, name.encode("utf-8", "replace").decode()))


def test_run_times_have_the_median_and_spread_asked_for() -> None:
    asked = settings(run_time={"median": "10m", "sigma": 1.0})
    drawn = [rehearse(1, f"{number}.0.0", workload(), asked).run_time_s or 0.0 for number in range(5000)]
    assert 560 < statistics.median(drawn) < 640
    within = sum(600 / 2.718 < one < 600 * 2.718 for one in drawn) / len(drawn)
    assert 0.66 < within < 0.71


def test_without_spread_every_attempt_takes_the_median() -> None:
    fate = rehearse(1, "1.0.0", workload(), settings(run_time={"median": "10m", "sigma": 0}))
    assert fate.run_time_s == 600.0


def test_the_share_of_failures_is_the_one_asked_for() -> None:
    codes = [rehearse(3, f"{number}.0.0", workload(), settings(failure_rate=0.1)).exit_code for number in range(5000)]
    assert set(codes) == {0, 1}
    assert 0.085 < sum(codes) / len(codes) < 0.115


def test_what_the_workload_says_wins() -> None:
    spec = workload(run={"simulate": {"run_time": "90s", "exit_code": 3}})
    fate = rehearse(1, "1.0.0", spec, settings(forever=True, failure_rate=1.0))
    assert (fate.run_time_s, fate.exit_code, fate.reason) == (90.0, 3, "exit status 3")


def test_forever_and_no_run_time_both_mean_until_stopped() -> None:
    assert rehearse(1, "1.0.0", workload(), settings(forever=True)).run_time_s is None
    assert rehearse(1, "1.0.0", workload(), settings(run_time=None)).run_time_s is None


def test_a_time_limit_ends_what_would_run_longer() -> None:
    limited = workload(deadline={"run_for": "1m"})
    fate = rehearse(1, "1.0.0", limited, settings(forever=True))
    assert (fate.run_time_s, fate.exit_code) == (60.0, 124)
    assert "1m" in fate.reason
    short = rehearse(1, "1.0.0", limited, settings(run_time={"median": 5, "sigma": 0}))
    assert (short.run_time_s, short.exit_code) == (5.0, 0)


def test_delays_are_passed_on() -> None:
    fate = rehearse(1, "1.0.0", workload(), settings(bind_delay="50ms", start_delay="2s"))
    assert (fate.bind_delay_s, fate.start_delay_s) == (0.05, 2.0)
