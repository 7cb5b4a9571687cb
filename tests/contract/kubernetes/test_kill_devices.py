"""Claims of devices in a storm, and a scheduler that is killed in the middle of it, again and again.

There is a device for every claim and none to spare. No device is given to two claims, not even for a moment, no claim
changes what it has, and in the end every pod is where its device is.
"""

import asyncio
import os
from collections.abc import Callable
from random import Random

import pytest
from tests.contract.kubernetes.cards import CLAIMS, claim, claiming, given, stage
from tests.contract.kubernetes.cluster import Cluster
from tests.contract.kubernetes.scheduler_process import killed_in_the_end
from tests.examples import times
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.reflector import ObjectChange, Reflector

pytestmark = [pytest.mark.needs_server, pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]

SEED = int(os.environ.get("DOVETAIL_KUBERNETES_SEED", "1"))
NODES, CARDS = times(4), 24
PODS = NODES * CARDS
KILLS = times(2)


class History:
    """Who was given what, in the API server's order."""

    def __init__(self) -> None:
        self.has: dict[str, tuple[str, str]] = {}
        self.wrong: list[str] = []

    def hear(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            name, status = change.object["metadata"]["name"], change.object.get("status") or {}
            if not status.get("allocation"):
                if name in self.has:
                    self.wrong.append(f"{name} lost what it had")
                continue
            (device,) = given(status)
            if self.has.get(name, device) != device:
                self.wrong.append(f"{name} has {device}, and had {self.has[name]}")
            if [other for other, its in self.has.items() if its == device and other != name]:
                self.wrong.append(f"{device} was given to {name}, and was another's")
            self.has[name] = device

    def reaches(self, given_away: int) -> Callable[[], bool]:
        return lambda: len(self.has) >= given_away


def test_kills_in_a_storm_of_claims_give_no_device_twice_and_leave_no_pod_behind(kube_server: KubeServer) -> None:
    chance = Random(SEED)

    async def play(cluster: Cluster) -> None:
        names = [f"a-{number}" for number in range(PODS)]
        await asyncio.gather(*[cluster.api.create(CLAIMS, claim(f"c-{name}")) for name in names])
        await cluster.pods(*[claiming(name, f"c-{name}", cpu="50m") for name in names])
        history = History()
        reflector = Reflector(cluster.api, CLAIMS, history.hear)
        informer = asyncio.create_task(reflector.run())
        await reflector.synced.wait()
        for _ in range(KILLS):
            due = min(PODS, len(history.has) + chance.randint(1, 10))
            async with killed_in_the_end(kube_server):
                await until(history.reaches(due), f"{due} claims have devices")
        left_to_the_last = PODS - len(history.has)
        async with killed_in_the_end(kube_server):
            await cluster.until_bound(*names)
        informer.cancel()
        assert not history.wrong, f"seed {SEED}: {history.wrong[:10]}"
        assert left_to_the_last > 0, "the storm was over before the last kill"
        where = await cluster.where()
        assert {name: where[name] for name in names} == {name: history.has[f"c-{name}"][0] for name in names}
        assert len(set(history.has.values())) == PODS

    stage(kube_server, play, **dict.fromkeys([f"n{number}" for number in range(NODES)], CARDS))
