"""A minute of the soak: what 20 minutes of it are run for, except that memory is not judged in so short a time."""

import asyncio
import os

import pytest
from tests.servers.kubernetes.server import kube_server
from tests.soak.memory import Sample, growth_mb_per_hour
from tests.soak.soak import Plan, soak

SEED = int(os.environ.get("DOVETAIL_SOAK_SEED", "1"))


@pytest.mark.needs_server
@pytest.mark.slow
@pytest.mark.xdist_group("kubernetes")
def test_after_a_minute_of_churn_with_restarts_our_state_is_the_apis() -> None:
    plan = Plan(60.0, SEED, restart_every_s=25.0, quiet_every_s=20.0, audit_every_s=5.0, compacting=1)
    with kube_server() as server:
        report = asyncio.run(soak(server, plan, print))
    assert not report.drift, f"seed {SEED}\n{report}"
    assert report.restarts >= 1
    assert report.relists >= 1, "nothing had to be listed anew"
    assert report.rests >= 2
    assert report.bound > 100, f"too little happened\n{report}"


def test_growth_is_that_of_the_time_after_the_warm_up() -> None:
    warm_up = [Sample(float(at), 100.0 + at) for at in range(20)]
    steady = [Sample(float(at), 120.0 + at / 3600) for at in range(20, 61)]
    assert growth_mb_per_hour([*warm_up, *steady]) == pytest.approx(1.0)
    assert growth_mb_per_hour(warm_up) > 3000


def test_of_two_samples_nothing_is_said() -> None:
    assert growth_mb_per_hour([]) == 0.0
    assert growth_mb_per_hour([Sample(0.0, 1.0), Sample(1.0, 2.0)]) == 0.0
