"""What speaking to a real API server costs: binding pods, and listing twenty thousand. The bindings are made by our own
exchange and, beside it, by aiohttp and httpx, in turns (`docs/decisions/0007-http-clients.md`).

One server with etcd on disk, on the same processors as the client. Binding is timed from the first request to the last
answer, as many at a time as a scheduler sends; the processor time is the client's own. The list is what a scheduler
waits for when it starts: paged, decoded, and every pod handed over.
"""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter

import aiohttp
import httpx
import orjson
import uvloop
from tests.servers.kubernetes.programs import command_of
from tests.servers.kubernetes.server import KubeServer, kube_server

from benchmarks.harness import Bench, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import fastest, quiet
from dovetail.kubernetes_client.access import Access, read_kubeconfig
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.pods import bind
from dovetail.kubernetes_client.reflector import ObjectChange, Reflector

BIND = at_least("kubernetes.client_bind", 600.0, "pods/s")
BIND_CPU = at_most("kubernetes.client_bind_cpu", 0.4, "ms/pod")
LIST = at_most("kubernetes.client_list_20000_pods", 3.0, "s")
# How many times as much processor time a binding takes with a general client; ours has to be worth its lines.
AIOHTTP = at_least("kubernetes.client_bind_cpu_aiohttp", 1.2, "times ours")
HTTPX = at_least("kubernetes.client_bind_cpu_httpx", 2.0, "times ours")
PODS, ROUND, ROUNDS, WIDTH, NODES = 20_000, 2_000, 3, 32, 10
COLLECTION = "/api/v1/namespaces/default/pods"

Figures = dict[str, list[float]]


Binds = Callable[[int], Awaitable[object]]


@benchmark(BIND, BIND_CPU, LIST, AIOHTTP, HTTPX)
def client(bench: Bench) -> Iterator[tuple[str, Measured]]:
    if command_of("kube-apiserver") is None:
        raise NotRun("the Kubernetes programs are not built; `make test-deps` builds them")
    with kube_server(durable=True) as server:
        figures = uvloop.run(_measure(bench, server))
    yield BIND.name, fastest(figures[BIND.name])
    for bar in (BIND_CPU, LIST, AIOHTTP, HTTPX):
        rounds = figures[bar.name]
        yield bar.name, Measured(min(rounds), min(rounds), max(rounds), f"best of {len(rounds)}")


async def _measure(bench: Bench, server: KubeServer) -> Figures:
    figures: Figures = {bar.name: [] for bar in (BIND, BIND_CPU, LIST, AIOHTTP, HTTPX)}
    access = read_kubeconfig([server.kubeconfig])
    assert access.trust is not None
    connector = aiohttp.TCPConnector(limit=0, ssl=access.trust)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with (
        Api(access, width=WIDTH) as api,
        aiohttp.ClientSession(connector=connector) as session,
        httpx.AsyncClient(verify=access.trust, limits=limits, timeout=30.0) as general,
    ):
        bench.say(f"creating {PODS:,} pods")
        await _many(range(PODS), lambda number: api.create(COLLECTION, _pod(number)))

        async def by_aiohttp(number: int) -> None:
            headers = await _headers(access)
            async with session.post(_url(access, number), data=_binding(number), headers=headers) as answer:
                await answer.read()
                answer.raise_for_status()

        async def by_httpx(number: int) -> None:
            headers = await _headers(access)
            answer = await general.post(_url(access, number), content=_binding(number), headers=headers)
            answer.raise_for_status()

        def by_ours(number: int) -> Awaitable[object]:
            return bind(api, "default", f"pod-{number}", f"node-{number % NODES}")

        ways: list[Binds] = [by_ours, by_aiohttp, by_httpx]
        for turn in range(ROUNDS):
            cpu_ms = []
            for place, way in enumerate(ways):
                first = (turn * len(ways) + place) * ROUND
                many = ROUND // 10 if way is by_httpx else ROUND  # a tenth tells enough of one so slow
                per_s, each_ms = await _bind(way, range(first, first + many))
                cpu_ms.append(each_ms)
                if way is by_ours:
                    figures[BIND.name].append(per_s)
                    figures[BIND_CPU.name].append(each_ms)
            figures[AIOHTTP.name].append(cpu_ms[1] / cpu_ms[0])
            figures[HTTPX.name].append(cpu_ms[2] / cpu_ms[0])
            bench.say(
                f"ms of processor time a binding: ours {cpu_ms[0]:.3f}, aiohttp {cpu_ms[1]:.3f}, httpx {cpu_ms[2]:.3f}"
            )
        for _ in range(ROUNDS):
            figures[LIST.name].append(await _list_s(api))
    return figures


async def _bind(way: Binds, numbers: range) -> tuple[float, float]:
    """Pods a second, and milliseconds of processor time a pod."""
    with quiet():
        began, cpu = perf_counter(), _cpu_s()
        await _many(numbers, way)
        return len(numbers) / (perf_counter() - began), (_cpu_s() - cpu) * 1000 / len(numbers)


def _url(access: Access, number: int) -> str:
    return f"{access.server}{COLLECTION}/pod-{number}/binding"


def _binding(number: int) -> bytes:
    target = {"kind": "Node", "name": f"node-{number % NODES}"}
    return orjson.dumps({"metadata": {"name": f"pod-{number}"}, "target": target})


async def _headers(access: Access) -> dict[str, str]:
    authorization = await access.credentials.header()
    found = {"Content-Type": "application/json"}
    return found if authorization is None else {**found, "Authorization": authorization}


async def _list_s(api: Api) -> float:
    heard = 0

    def take(changes: list[ObjectChange]) -> None:
        nonlocal heard
        heard += len(changes)

    reflector = Reflector(api, "/api/v1/pods", take)
    began = perf_counter()
    informer = asyncio.create_task(reflector.run())
    await reflector.synced.wait()
    elapsed_s = perf_counter() - began
    informer.cancel()
    await asyncio.gather(informer, return_exceptions=True)
    if heard != PODS:
        raise RuntimeError(f"{heard} pods were heard of, not {PODS}")
    return elapsed_s


async def _many(numbers: range, do: Callable[[int], Awaitable[object]]) -> None:
    left = iter(numbers)

    async def work() -> None:
        for number in left:
            await do(number)

    await asyncio.gather(*(work() for _ in range(WIDTH)))


def _pod(number: int) -> dict[str, object]:
    asked = {"requests": {"cpu": "100m", "memory": "100Mi"}}
    container = {"name": "main", "image": "none", "resources": asked}
    return {
        "metadata": {"name": f"pod-{number}", "labels": {"app": "bench"}},
        "spec": {"containers": [container], "schedulerName": "none"},
    }


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
