"""One leads at a time, whatever the clocks say and whoever is cut off."""

import asyncio

import pytest
from tests.contract.kubernetes.gate import straight, through
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.election import Election, LeadershipLost, Pace
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
QUICK = Pace(lease_s=3, renew_within_s=2.0, retry_s=0.2)


def candidate(api: Api, name: str, identity: str, pace: Pace = QUICK) -> Election:
    return Election(api, "default", name, identity, pace)


def test_the_second_leads_when_the_first_gives_it_back(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            order: list[str] = []
            first, second = (candidate(api, "given-back", name, Pace()) for name in ("first", "second"))
            done = asyncio.Event()

            async def lead(name: str, until_done: asyncio.Event | None = None) -> None:
                order.append(f"{name} begins")
                if until_done is not None:
                    await until_done.wait()
                order.append(f"{name} ends")

            running = asyncio.create_task(first.run(lambda: lead("first", done)))
            await until(lambda: first.leading, "the first to lead")
            waiting = asyncio.create_task(second.run(lambda: lead("second")))
            await until(lambda: second.leader == "first", "the second to see that")
            done.set()
            await running
            await waiting
            assert order == ["first begins", "first ends", "second begins", "second ends"]
            lease = await api.get("/apis/coordination.k8s.io/v1/namespaces/default/leases/given-back")
            assert lease["spec"]["holderIdentity"] == ""
            assert lease["spec"]["leaseTransitions"] >= 1

    asyncio.run(scene())


def test_who_is_cut_off_stops_before_another_begins(kube_server: KubeServer) -> None:
    async def scene(proxy: LossyProxy) -> None:
        async with straight(kube_server) as api, through(proxy.address, kube_server) as far:
            leading: list[str] = []
            most = 0

            async def lead(name: str) -> None:
                nonlocal most
                leading.append(name)
                most = max(most, len(leading))
                try:
                    await asyncio.sleep(3600)
                finally:
                    leading.remove(name)

            away, here = candidate(far, "cut-off", "away"), candidate(api, "cut-off", "here")
            first = asyncio.create_task(away.run(lambda: lead("away")))
            await until(lambda: leading == ["away"], "the first to lead")
            second = asyncio.create_task(here.run(lambda: lead("here")))
            async with proxy.break_calls():
                with pytest.raises(LeadershipLost):
                    await first
                await until(lambda: leading == ["here"], "the other to take over")
            assert most == 1
            second.cancel()
            await asyncio.gather(second, return_exceptions=True)

    with LossyProxy(kube_server.url.removeprefix("https://")) as proxy:
        asyncio.run(scene(proxy))


@pytest.mark.parametrize("renewed", ["1999-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"])
def test_no_clock_but_our_own_is_believed(kube_server: KubeServer, renewed: str) -> None:
    """The holder's clock is decades off: its lease is respected for as long as it says, and no longer."""

    async def scene() -> None:
        async with straight(kube_server) as api:
            name = f"clock-{renewed[:4]}"
            spec = {"holderIdentity": "odd-clock", "leaseDurationSeconds": 3, "renewTime": renewed}
            path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
            await api.create(path, {"metadata": {"name": name}, "spec": spec})
            now = 0.0
            election = Election(api, "default", name, "us", QUICK, monotonic_s=lambda: now)
            assert not await election._try()
            now = 2.9
            assert not await election._try()
            now = 3.1
            assert await election._try()
            assert election.leader == "us"

    asyncio.run(scene())


def test_a_pace_that_cannot_be_held_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be held"):
        Pace(lease_s=5, renew_within_s=5.0)
