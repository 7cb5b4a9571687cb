"""What speaking to a real API server costs: binding pods, and listing twenty thousand.

One server with etcd on disk, on the same processors as the client. Binding is timed from the first request to the last
answer, as many at a time as a scheduler sends; the processor time is the client's own. The list is what a scheduler
waits for when it starts: paged, decoded, and every pod handed over.
"""

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter

import uvloop
from tests.servers.kubernetes.programs import command_of
from tests.servers.kubernetes.server import KubeServer, kube_server

from benchmarks.harness import Bench, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import fastest, quiet
from dovetail.kubernetes.client.access import read_kubeconfig
from dovetail.kubernetes.client.api import Api
from dovetail.kubernetes.client.pods import bind
from dovetail.kubernetes.client.reflector import Change, Reflector

BIND = at_least("kubernetes.client_bind", 600.0, "pods/s")
BIND_CPU = at_most("kubernetes.client_bind_cpu", 0.4, "ms/pod")
LIST = at_most("kubernetes.client_list_20000_pods", 3.0, "s")
PODS, ROUND, ROUNDS, WIDTH, NODES = 20_000, 2_000, 3, 32, 10
COLLECTION = "/api/v1/namespaces/default/pods"

Figures = dict[str, list[float]]


@benchmark(BIND, BIND_CPU, LIST)
def client(bench: Bench) -> Iterator[tuple[str, Measured]]:
    if command_of("kube-apiserver") is None:
        raise NotRun("the Kubernetes programs are not built; `make test-deps` builds them")
    with kube_server(durable=True) as server:
        figures = uvloop.run(_measure(bench, server))
    yield BIND.name, fastest(figures[BIND.name])
    for bar in (BIND_CPU, LIST):
        rounds = figures[bar.name]
        yield bar.name, Measured(min(rounds), min(rounds), max(rounds), f"best of {len(rounds)}")


async def _measure(bench: Bench, server: KubeServer) -> Figures:
    figures: Figures = {bar.name: [] for bar in (BIND, BIND_CPU, LIST)}
    async with Api(read_kubeconfig([server.kubeconfig]), width=WIDTH) as api:
        bench.say(f"creating {PODS:,} pods")
        await _many(range(PODS), lambda number: api.create(COLLECTION, _pod(number)))
        for turn in range(ROUNDS):
            numbers = range(turn * ROUND, (turn + 1) * ROUND)
            with quiet():
                began, cpu = perf_counter(), _cpu_s()
                await _many(numbers, lambda number: bind(api, "default", f"pod-{number}", f"node-{number % NODES}"))
                figures[BIND.name].append(ROUND / (perf_counter() - began))
                figures[BIND_CPU.name].append((_cpu_s() - cpu) * 1000 / ROUND)
        for _ in range(ROUNDS):
            figures[LIST.name].append(await _list_s(api))
    return figures


async def _list_s(api: Api) -> float:
    heard = 0

    def take(changes: list[Change]) -> None:
        nonlocal heard
        heard += len(changes)

    reflector = Reflector(api, "/api/v1/pods", take)
    began = perf_counter()
    following = asyncio.create_task(reflector.run())
    await reflector.synced.wait()
    elapsed_s = perf_counter() - began
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
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
