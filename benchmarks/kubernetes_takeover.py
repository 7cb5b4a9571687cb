"""How long pods wait after `kill -9` of the leading scheduler: two processes with one lease on a real API server.

The time runs from the kill until a pod that was created at that moment is bound, in seconds. The new leader has
followed the cluster; its lists of 500 nodes and 2,000 pods are part of the time.
"""

import asyncio
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.servers.kubernetes.server import kube_server

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api

TAKEOVER = at_most("kubernetes.takeover", 10.0, "s")
NODES, RUNNING, ROUNDS = 500, 2_000, 5
LOOK_EVERY_S = 0.02
PODS = "/api/v1/namespaces/default/pods"
COMMAND = [sys.executable, "-m", "dovetail", "kubernetes", "scheduler", "--kubeconfig"]


@benchmark(TAKEOVER)
def takeover(_: Bench) -> Iterator[tuple[str, Measured]]:
    with kube_server() as server:
        yield TAKEOVER.name, middle(asyncio.run(_rounds(server)), "kills")


async def _rounds(server: Any) -> list[float]:
    async with Api(read_kubeconfig([server.kubeconfig])) as api:
        await _lay_out(api)
        leader, found = await _candidate(server, "decides for"), []
        for number in range(ROUNDS):
            other = await _candidate(server, "waits for the lease")
            leader.kill()
            began = time.monotonic()
            await api.create(PODS, _pod(f"late-{number}"))
            await leader.wait()
            while not (await api.get(f"{PODS}/late-{number}"))["spec"].get("nodeName"):  # noqa: ASYNC110 - a look
                await asyncio.sleep(LOOK_EVERY_S)
            found.append(time.monotonic() - began)
            leader = other
        leader.kill()
        await leader.wait()
    return found


async def _candidate(server: Any, words: str) -> asyncio.subprocess.Process:
    """A scheduler that has said these words."""
    found = await asyncio.create_subprocess_exec(
        *COMMAND, str(server.kubeconfig), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert found.stderr is not None
    while words not in (line := (await found.stderr.readline()).decode()):
        if not line:
            raise RuntimeError(f"a scheduler ended without saying that it {words}")
    return found


async def _lay_out(api: Api) -> None:
    amounts = {"cpu": "32", "memory": "64Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts}
    nodes = [{"metadata": {"name": f"n{i}"}, "status": status} for i in range(NODES)]
    pods = [_pod(f"runs-{i}", nodeName=f"n{i % NODES}") for i in range(RUNNING)]
    for path, bodies in (("/api/v1/nodes", nodes), (PODS, pods)):
        for start in range(0, len(bodies), 50):
            await asyncio.gather(*[api.create(path, one) for one in bodies[start : start + 50]])


def _pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    wanted = {"schedulerName": "dovetail", "containers": [container], **spec}
    return {"metadata": {"name": name}, "spec": wanted}
