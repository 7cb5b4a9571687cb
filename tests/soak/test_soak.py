"""Fourteen seconds of the churn that a soak has for long; memory is not judged in so short a time."""

import asyncio
import os

import pytest
from tests.contract.kubernetes.cluster import Cluster, node, pod, scene
from tests.examples import SOAK_SEED
from tests.servers.kubernetes.server import KubeServer
from tests.servers.kubernetes.server import kube_server as run_kubernetes
from tests.soak.kubernetes_churn import Plan, soak
from tests.soak.memory import Sample, growth_mb_per_hour
from tests.soak.quiet import overlooked

SEED = int(os.environ.get(SOAK_SEED, "1"))


@pytest.mark.needs_server
@pytest.mark.slow
@pytest.mark.xdist_group("kubernetes")
def test_after_some_churn_with_restarts_our_state_is_the_apis() -> None:
    plan = Plan(
        14.0,
        SEED,
        min_bound=100,
        max_seconds=90.0,
        restart_every_s=6.0,
        quiet_every_s=5.0,
        audit_every_s=3.0,
        compacting=1,
    )
    with run_kubernetes() as server:
        report = asyncio.run(soak(server, plan, print))
    assert not report.drift, f"seed {SEED}\n{report}"
    assert report.restarts >= 1
    assert report.relists >= 1, "nothing had to be listed anew"
    assert report.rests >= 2
    assert report.bound >= 100, f"too little happened\n{report}"


@pytest.mark.needs_server
@pytest.mark.xdist_group("kubernetes")
def test_a_pod_that_waits_though_a_node_would_take_it_is_found(kube_server: KubeServer) -> None:
    """Nobody places pods here, so that whoever could go somewhere is overlooked."""

    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="2"))
        await cluster.pods(pod("fits-1"), pod("large-1", cpu="64"), pod("other-1", schedulerName="somebody"))
        await cluster.pods(pod("gated-1", schedulingGates=[{"name": "example.com/gate"}]))
        assert await overlooked(cluster.api, ["dovetail"]) == ["pod fits-1 waits, and n1 would take it"]
        await cluster.pods(pod("there-1", cpu="2", nodeName="n1"))
        assert await overlooked(cluster.api, ["dovetail"]) == []

    scene(kube_server, play)


def test_growth_is_that_of_the_time_after_the_warm_up() -> None:
    warm_up = [Sample(float(at), 100.0 + at) for at in range(20)]
    steady = [Sample(float(at), 120.0 + at / 3600) for at in range(20, 61)]
    assert growth_mb_per_hour([*warm_up, *steady]) == pytest.approx(1.0)
    assert growth_mb_per_hour(warm_up) > 3000


def test_of_two_samples_nothing_is_said() -> None:
    assert growth_mb_per_hour([]) == 0.0
    assert growth_mb_per_hour([Sample(0.0, 1.0), Sample(1.0, 2.0)]) == 0.0
