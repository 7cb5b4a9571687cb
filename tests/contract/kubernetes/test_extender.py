"""The extender asked by a stock kube-scheduler on a real API server, over TLS: single pods, gangs, preemption, and what
happens when it is away."""

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.kubernetes.applying import Applier
from tests.contract.kubernetes.cluster import PATIENCE_S, PODS, Cluster, node, pod, scene
from tests.contract.kubernetes.extending import IMPATIENT, deployed, example, extended, extended_by_process
from tests.contract.kubernetes.gate import through
from tests.contract.kubernetes.test_gangs import GROUP, GROUPS, define_groups, group, labelled, undefine_groups
from tests.examples import times
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.extender.bind_verb import BindVerb
from dovetail.kubernetes.extender.extender import Extender
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes.extender.wire import ExtenderBindingArgs
from dovetail.kubernetes.objects.annotations import PREFIX
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import Forbidden
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

Json = dict[str, Any]
RACK = "example.com/rack"
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/dovetail-extender/token"
POD_GROUP = {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup"}
SSD = {"constraints": json.dumps([{"require": 'node.labels.disk == "ssd"'}])}


def stock(name: str, cpu: str = "1", asks: dict[str, str] | None = None, **spec: Any) -> Json:
    """A pod of the cluster's own scheduler; `asks` are annotations of ours."""
    found = pod(name, cpu, schedulerName="default-scheduler", **spec)
    found["metadata"]["annotations"] = {PREFIX + key: value for key, value in (asks or {}).items()}
    return found


def gang(name: str, size: int, least: int | None = None, cpu: str = "1", **spec: Any) -> list[Json]:
    asks = {"gang": name, "gang-min": str(least or size), "topology": f"required: {RACK}"}
    return [stock(f"{name}-{i}", cpu, asks, **spec) for i in range(size)]


def racks(count: int, each: int, cpu: str) -> list[Json]:
    return [node(f"r{i}n{j}", cpu, **{RACK: f"r{i}"}) for i in range(count) for j in range(each)]


async def says(cluster: Cluster, name: str, words: str) -> None:
    async def told() -> bool:
        conditions = (await cluster.one(name))["status"].get("conditions") or []
        return any(words in one.get("message", "") for one in conditions if one["type"] == "PodScheduled")

    await cluster.until(told, f"{name} says {words!r}")


async def by_rack(cluster: Cluster, name: str) -> Counter[str]:
    where = await cluster.where()
    return Counter(node[:2] for one, node in where.items() if one.startswith(f"{name}-"))


async def classes(cluster: Cluster) -> None:
    applier = Applier(cluster.api, "test")
    for name, value in (("low", 10), ("high", 1000)):
        about = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
        await applier.apply({**about, "value": value, "description": "for a test"})


def test_pods_are_bound_through_it_and_never_where_their_annotations_forbid(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*[node(f"n{i}", cpu="16", disk="ssd" if i % 2 else "hdd") for i in range(4)])
        async with extended_by_process(cluster) as extender:
            await cluster.pods(*[stock(f"any-{i}") for i in range(8)], *[stock(f"ssd-{i}", asks=SSD) for i in range(8)])
            await cluster.until_bound(*[f"{kind}-{i}" for kind in ("any", "ssd") for i in range(8)])
            await cluster.pods(stock("never-0", asks={"gang": "g"}))
            await says(cluster, "never-0", "gang-min")
            extender.daemon.stop()
            assert "16 pods were bound" in extender.daemon.log_tail
        where = await cluster.where()
        assert {where[f"ssd-{i}"] for i in range(8)} <= {"n1", "n3"}

    scene(kube_server, play)


def test_a_gang_lands_in_one_rack_where_kube_scheduler_alone_scatters_it(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*racks(4, 4, cpu="2"))
        pods = gang("alone", 8)
        with cluster.server.start_scheduler(IMPATIENT):
            await cluster.pods(*pods)
            await cluster.until_bound(*[one["metadata"]["name"] for one in pods])
        assert len(await by_rack(cluster, "alone")) > 1
        for one in pods:
            await cluster.api.delete(f"{PODS}/{one['metadata']['name']}")
        pods = gang("asked", 8)
        async with extended(cluster, mutual=True):
            await cluster.pods(*pods)
            await cluster.until_bound(*[one["metadata"]["name"] for one in pods])
        assert list((await by_rack(cluster, "asked")).values()) == [8]

    scene(kube_server, play)


def test_an_incomplete_gang_binds_nothing_until_the_last_pod_comes(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*racks(2, 4, cpu="4"))
        pods = gang("g", 6)
        async with extended(cluster):
            await cluster.pods(*pods[:5])
            for i in range(5):
                await says(cluster, f"g-{i}", "5 of the 6 pods")
            await cluster.pods(stock("single-0"))
            await cluster.until_bound("single-0")
            assert not any(at for name, at in (await cluster.where()).items() if name.startswith("g-"))
            await cluster.pods(pods[5])
            await cluster.until_bound(*[f"g-{i}" for i in range(6)])
        assert list((await by_rack(cluster, "g")).values()) == [6]

    scene(kube_server, play)


def test_of_two_gangs_that_fit_only_one_at_a_time_one_starts_whole(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*racks(2, 2, cpu="2"))
        both = {name: gang(name, 4, cpu="1500m") for name in ("one", "two")}
        async with extended(cluster):
            await cluster.pods(*both["one"], *both["two"])
            # Neither fits: two pods a rack.
            await says(cluster, "one-0", "tasks")
            await says(cluster, "two-0", "tasks")
            assert not any((await cluster.where()).values())
            await cluster.nodes(*[node(f"r1n{j}", "2", **{RACK: "r1"}) for j in (2, 3)])
            await cluster.until(lambda: _whole(cluster), "one of them is whole")
            await asyncio.sleep(2.0)
            found = await asyncio.gather(*[by_rack(cluster, name) for name in both])
        started = [{rack: count for rack, count in one.items() if rack} for one in found]
        assert sorted(started, key=len) == [{}, {"r1": 4}]

    scene(kube_server, play)


async def _whole(cluster: Cluster) -> bool:
    return 4 in [(await by_rack(cluster, name))["r1"] for name in ("one", "two")]


def test_preemption_on_a_full_cluster_leads_to_a_bind_where_our_rules_allow(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(*[node(f"n{i}", cpu="2", disk="ssd" if i == 2 else "hdd") for i in range(3)])
        async with extended(cluster):
            await cluster.pods(*[stock(f"low-{i}", "1", priorityClassName="low") for i in range(6)])
            await cluster.until_bound(*[f"low-{i}" for i in range(6)])
            await cluster.pods(stock("high-0", "2", SSD, priorityClassName="high"))
            await cluster.until_bound("high-0")
            where = await cluster.where()
        assert where["high-0"] == "n2"
        assert len(where) == 5, "two gave way, nobody else"

    scene(kube_server, play)


def test_a_gang_displaces_less_urgent_pods_and_starts_whole(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(*racks(2, 2, cpu="1"))
        async with extended(cluster):
            await cluster.pods(*[stock(f"low-{i}", priorityClassName="low") for i in range(4)])
            await cluster.until_bound(*[f"low-{i}" for i in range(4)])
            await cluster.pods(*gang("high", 2, priorityClassName="high"))
            await cluster.until_bound("high-0", "high-1")
            await cluster.pods(*gang("vast", 3, priorityClassName="high"))
            await asyncio.sleep(2.0)
            where = await cluster.where()
        assert len(await by_rack(cluster, "high")) == 1
        left = [name for name in where if name.startswith("low-")]
        assert len(left) == 2, "nobody goes for a gang that would not fit even then"

    scene(kube_server, play)


def test_what_kube_scheduler_leaves_of_a_gang_that_it_preempts_goes_too(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await classes(cluster)
        await cluster.nodes(*racks(1, 3, cpu="1"))
        async with extended(cluster):
            await cluster.pods(*gang("low", 3, priorityClassName="low"))
            await cluster.until_bound("low-0", "low-1", "low-2")
            await cluster.pods(stock("high-0", priorityClassName="high"))
            await cluster.until_bound("high-0")

            async def alone() -> bool:
                return set(await cluster.where()) == {"high-0"}

            await cluster.until(alone, "no pod of the gang is left")

    scene(kube_server, play)


def test_pods_are_placed_without_it_where_it_may_be_ignored_and_wait_for_it_where_not(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1", cpu="16"))
        async with extended(cluster, ignorable=True) as extender:
            await cluster.pods(stock("before-0"))
            await cluster.until_bound("before-0")
            await extender.stop()
            await cluster.pods(stock("without-0"))
            await cluster.until_bound("without-0")
        async with extended(cluster, started=False) as extender:
            await cluster.pods(stock("waits-0"))
            await says(cluster, "waits-0", "refused")
            assert not (await cluster.where())["waits-0"]
            await extender.start()
            await cluster.until_bound("waits-0")

    scene(kube_server, play)


def test_killed_and_started_again_in_a_storm_every_pod_is_bound_once_and_gangs_lie_together(
    kube_server: KubeServer,
) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(*racks(6, 5, cpu="8"))
        first, count = 60, times(120)
        singles = [stock(f"s-{i}", "250m") for i in range(count)]
        gangs = [one for i in range(4) for one in gang(f"g{i}", 8)]
        bindings: Counter[str] = Counter()
        async with extended_by_process(cluster) as extender:

            async def killed_and_started(bound: int) -> None:
                async def there() -> bool:
                    return sum(map(bool, (await cluster.where()).values())) >= bound

                await cluster.until(there, f"{bound} pods are bound")
                extender.daemon.kill()
                await asyncio.to_thread(extender.start)

            await cluster.pods(*singles[:first], *gangs[:16])
            await killed_and_started(5)
            await cluster.pods(*singles[first:], *gangs[16:])
            await killed_and_started(80)
            await cluster.until_bound(*[one["metadata"]["name"] for one in (*singles, *gangs)])
            events = await cluster.api.items("/apis/events.k8s.io/v1/namespaces/default/events")
            bindings.update(one["regarding"]["uid"] for one in events if one["reason"] == "Scheduled")
        held: Counter[str] = Counter()
        for one in await cluster.api.items(PODS):
            cpu = one["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            held[one["spec"]["nodeName"]] += 250 if cpu == "250m" else 1000
        assert max(held.values()) <= 8000
        assert set(bindings.values()) == {1}
        for i in range(4):
            assert len(await by_rack(cluster, f"g{i}")) == 1

    scene(kube_server, play)


def test_its_group_says_how_long_capacity_is_held_for_a_planned_gang(kube_server: KubeServer) -> None:
    """The gang's own scheduler is away: it asks once and never again. `keep_plan_s` alone would hold it for an hour."""
    names = {"default-scheduler": "kubernetes", "away": "kubernetes"}

    async def play(cluster: Cluster) -> None:
        await define_groups(cluster)
        await cluster.nodes(node("n1", "2"))
        await cluster.api.create(GROUPS, group("team", minMember=2, scheduleTimeoutSeconds=5))
        await cluster.pods(*[labelled(pod(f"w-{i}", schedulerName="away"), group="team") for i in range(2)])
        try:
            async with extended(cluster, settings={"keep_plan_s": 3600, "names": names}) as extender:

                async def passes(body: Json) -> list[str]:
                    answer = await extender.ask("filter", {"Pod": body, "NodeNames": ["n1"]})
                    found: list[str] = answer["NodeNames"]
                    return found

                assert await passes(await cluster.one("w-0")) == ["n1"]
                other = stock("other-0")
                other["metadata"] |= {"namespace": "default", "uid": "not created yet"}
                assert await passes(other) == [], "the capacity is held for the gang"
                await cluster.pods(stock("other-0"))
                await cluster.until_bound("other-0")
        finally:
            await undefine_groups(cluster)
        assert await cluster.where() == {"other-0": "n1", "w-0": "", "w-1": ""}

    scene(kube_server, play)


def test_binding_twice_is_binding_once_and_says_why_when_it_cannot(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        await cluster.nodes(node("n1"), node("n2"))
        await cluster.pods(stock("a-0"), stock("b-0"))
        uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await cluster.api.items(PODS)}
        with LossyProxy(f"127.0.0.1:{kube_server.port}") as proxy:
            await _binds(proxy, kube_server, uids)
        assert await cluster.where() == {"a-0": "n1", "b-0": "n2"}

    scene(kube_server, play)


async def _binds(proxy: LossyProxy, server: KubeServer, uids: dict[str, str]) -> None:
    async with through(proxy.address, server) as api:
        extender = Extender(api, KubernetesExtenderSettings(bind_within_s=PATIENCE_S))
        hasty = BindVerb(api, extender.informer, extender.filter_verb, within_s=0.5, keep_s=60.0, now=time.time)
        running = asyncio.create_task(extender.run())
        await extender.informer.synced.wait()

        async def bind(name: str, to: str, uid: str = "", verb: BindVerb = extender.bind_verb) -> str:
            args = {"PodName": name, "PodNamespace": "default", "PodUID": uid or uids.get(name, "none"), "Node": to}
            return (await verb.bind(ExtenderBindingArgs.model_validate(args))).error

        assert await bind("a-0", "n1") == ""
        assert await bind("a-0", "n1") == "", "it is where it was to go"
        assert await bind("a-0", "n2") == "it was bound to n1 by somebody else"
        assert await bind("b-0", "n1", uid="another") != ""
        assert await bind("c-0", "n1") == "the pod is gone"
        async with proxy.break_calls():
            assert "not bound within 0.5 s" in await bind("b-0", "n1", verb=hasty)
        assert extender.filter_verb.held.get(("default", "b-0")) is None, "it does not count there any more"
        async with proxy.cut_replies():
            assert "not bound within 0.5 s" in await bind("b-0", "n2", verb=hasty), "though it may be"
        assert await bind("b-0", "n2") == ""
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_with_the_rights_of_the_manifest_it_does_its_work_and_can_do_nothing_else(
    kube_server: KubeServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def play(cluster: Cluster) -> None:
        admin = cluster.api
        applier = Applier(admin, "test")
        for manifest in deployed("extender.yaml"):
            if manifest["kind"] != "Deployment":
                await applier.apply(manifest)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = (await admin.create(ACCOUNT, asked))["status"]["token"]
        kubeconfig = yaml.safe_load(kube_server.kubeconfig.read_text())
        kubeconfig["users"][0]["user"] = {"token": token}
        own = tmp_path / "kubeconfig.yaml"
        own.write_text(yaml.safe_dump(kubeconfig))
        await cluster.nodes(*racks(2, 2, cpu="2"))
        await define_groups(cluster)
        await admin.create(GROUPS, {**POD_GROUP, "metadata": {"name": "g"}, "spec": {"minMember": 4}})
        pods = [stock(f"g-{i}", asks={"topology": f"required: {RACK}"}) for i in range(4)]
        for one in pods:
            one["metadata"]["labels"] |= {GROUP: "g"}
        async with extended(cluster, kubeconfig=own):
            await cluster.pods(*pods[:3])
            await says(cluster, "g-0", "3 of the 4 pods")
            await cluster.pods(pods[3])
            await cluster.until_bound(*[f"g-{i}" for i in range(4)])
            assert "no condition was written" not in caplog.text
        assert list((await by_rack(cluster, "g")).values()) == [4]
        async with Api(read_kubeconfig([own])) as api:
            for path in ("/api/v1/secrets", "/api/v1/configmaps"):
                with pytest.raises(Forbidden):
                    await api.items(path)
            with pytest.raises(Forbidden):
                await api.create(PODS, stock("own-0"))
            with pytest.raises(Forbidden):
                await api.patch(f"{PODS}/g-0", {"metadata": {"labels": {"changed": "yes"}}})
            with pytest.raises(Forbidden):
                await api.delete("/api/v1/nodes/r0n0")
            await api.delete(f"{PODS}/g-0")  # as it has to do with what is left of a gang
        await undefine_groups(cluster)

    scene(kube_server, play)


def test_the_configuration_that_is_deployed_names_the_service_that_is_deployed() -> None:
    (extender,) = example()["extenders"]
    (service,) = [one for one in deployed("extender.yaml") if one["kind"] == "Service"]
    about = service["metadata"]
    assert extender["urlPrefix"] == f"https://{about['name']}.{about['namespace']}.svc"
    assert service["spec"]["ports"][0]["port"] == 443
