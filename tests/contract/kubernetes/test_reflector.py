"""A reflector misses nothing and repeats nothing, whatever happens to the line and to the API server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from tests.contract.kubernetes.gate import new_namespace, pod_body, straight, through
from tests.patience import until
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.pods import delete
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


class Ear:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def take(self, changes: list[ObjectChange]) -> None:
        for kind, item in changes:
            # A pod that is deleted changes first, by the mark that it will be.
            if kind is not ChangeKind.MODIFIED or "deletionTimestamp" not in item["metadata"]:
                self.heard.append((kind.value, item["metadata"]["name"]))


@asynccontextmanager
async def informer(api: Api, path: str, page: int = 2) -> AsyncIterator[tuple[Reflector, Ear]]:
    ear = Ear()
    reflector = Reflector(api, path, ear.take, page=page)
    task = asyncio.create_task(reflector.run())
    try:
        async with asyncio.timeout(60):
            await reflector.synced.wait()
        yield reflector, ear
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_watching(api: Api, path: str, ear: Ear) -> None:
    """The watch is under way: something came through it. What was heard so far is forgotten."""
    await api.create(path, pod_body("first-watched"))
    await until(lambda: ("ADDED", "first-watched") in ear.heard, "the watch")
    ear.heard.clear()


def test_everything_is_heard_once_and_then_what_changes(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "hears-all")
            for number in range(5):
                await api.create(path, pod_body(f"p{number}"))
            async with informer(api, path) as (reflector, ear):
                assert sorted(ear.heard) == [("ADDED", f"p{number}") for number in range(5)]
                await api.patch(f"{path}/p1", {"metadata": {"labels": {"a": "b"}}})
                await api.create(path, pod_body("p5"))
                await delete(api, "hears-all", "p0", grace_s=0)
                await until(lambda: len(ear.heard) >= 8, "three changes")
                assert ear.heard[5:] == [("MODIFIED", "p1"), ("ADDED", "p5"), ("DELETED", "p0")]
                assert (len(reflector), reflector.lists) == (5, 1)

    asyncio.run(scene())


def test_a_list_that_was_asked_for_ahead_is_followed_from_its_moment_on(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "asks-ahead")
            for number in range(5):
                await api.create(path, pod_body(f"p{number}"))
            await asyncio.wait([api.ask_ahead(path, 2)])
            await delete(api, "asks-ahead", "p0", grace_s=0)
            await api.create(path, pod_body("p5"))
            async with informer(api, path) as (reflector, ear):
                await until(lambda: len(ear.heard) >= 7, "what was there, and two changes")
                assert sorted(ear.heard[:5]) == [("ADDED", f"p{number}") for number in range(5)]
                assert ear.heard[5:] == [("DELETED", "p0"), ("ADDED", "p5")]
                assert reflector.lists == 1
            api.ask_ahead(path, 2)  # nobody comes for it: it is let go

    asyncio.run(scene())


def test_a_line_that_breaks_is_taken_up_where_it_broke(kube_server: KubeServer) -> None:
    async def scene(proxy: LossyProxy) -> None:
        async with straight(kube_server) as api, through(proxy.address, kube_server) as far:
            path = await new_namespace(api, "line-breaks")
            await api.create(path, pod_body("before"))
            async with informer(far, path) as (reflector, ear):
                await until_watching(api, path, ear)
                async with proxy.break_calls():
                    await api.create(path, pod_body("meanwhile"))
                    await delete(api, "line-breaks", "before", grace_s=0)
                await until(lambda: len(ear.heard) >= 2, "what happened meanwhile")
                assert ear.heard == [("ADDED", "meanwhile"), ("DELETED", "before")]
                assert reflector.lists == 1

    with LossyProxy(kube_server.url.removeprefix("https://")) as proxy:
        asyncio.run(scene(proxy))


def test_after_a_version_that_is_gone_only_the_differences_are_heard(kube_server: KubeServer) -> None:
    """While the line is down things change and the server forgets how: it was restarted, its past compacted away."""

    async def scene(proxy: LossyProxy) -> None:
        async with straight(kube_server) as api, through(proxy.address, kube_server) as far:
            path = await new_namespace(api, "is-gone")
            for name in ("stays", "changes", "goes", "replaced"):
                await api.create(path, pod_body(name))
            async with informer(far, path) as (reflector, ear):
                await until_watching(api, path, ear)
                async with proxy.break_calls():
                    await api.patch(f"{path}/changes", {"metadata": {"labels": {"a": "b"}}})
                    for name in ("goes", "replaced"):
                        await delete(api, "is-gone", name, grace_s=0)
                    for name in ("replaced", "new"):
                        made = await api.create(path, pod_body(name))
                    await asyncio.to_thread(compact, kube_server, int(made["metadata"]["resourceVersion"]))
                    await asyncio.to_thread(kube_server.restart)
                await until(lambda: len(ear.heard) >= 5, "the differences")
                assert reflector.lists == 2
                assert ear.heard[-1] == ("DELETED", "goes")
                assert sorted(ear.heard[:-1]) == [
                    ("ADDED", "new"), ("ADDED", "replaced"), ("DELETED", "replaced"), ("MODIFIED", "changes"),
                ]  # fmt: skip
                assert ear.heard.index(("DELETED", "replaced")) < ear.heard.index(("ADDED", "replaced"))

    with LossyProxy(kube_server.url.removeprefix("https://")) as proxy:
        asyncio.run(scene(proxy))


def compact(server: KubeServer, revision: int) -> None:
    """Takes etcd's memory of everything before."""
    answer = httpx.post(
        f"{server.etcd_url}/v3/kv/compaction", json={"revision": str(revision), "physical": True}, timeout=60
    )
    answer.raise_for_status()


def test_a_server_that_is_killed_and_comes_back_is_followed_on(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            path = await new_namespace(api, "killed")
            told: list[bool] = []
            ear = Ear()
            reflector = Reflector(api, path, ear.take, told=lambda well, _words: told.append(well))
            task = asyncio.create_task(reflector.run())
            await reflector.synced.wait()
            await api.create(path, pod_body("before"))
            await until(lambda: len(ear.heard) == 1, "the first pod")
            await asyncio.to_thread(kube_server.restart)
            await api.create(path, pod_body("after"))
            await until(lambda: len(ear.heard) >= 2, "the pod after the restart")
            assert ear.heard == [("ADDED", "before"), ("ADDED", "after")]
            assert told[0] is True
            assert told[-1] is True
            task.cancel()

    asyncio.run(scene())
