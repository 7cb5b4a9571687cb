"""Pods bound a second, beside kube-scheduler: both on the same API server, with etcd's writes on disk, in turn.

Each scenario is made anew for each of the two: nodes, whatever runs there, then all pods that wait; then the scheduler
is started, and the time runs until the last of them is bound. Ratios are ours to theirs; memory is that of the
scheduler's process when the last pod is bound. Theirs runs with its own limit on calls a second lifted.

Where others have to go first, what the API server alone can do is measured beside them: a client that sends the same
deletions and bindings as fast as it can, and neither watches nor decides. A scheduler that sends them this way cannot
be quicker.
"""

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psutil
import uvloop
from tests.servers.kubernetes.programs import command_of
from tests.servers.kubernetes.server import kube_server

from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_most, benchmark
from benchmarks.measuring import once
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import AlreadyExists
from dovetail.kubernetes_client.paths import DEVICES
from dovetail.kubernetes_client.pods import bind, delete
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector

Json = dict[str, Any]

THEIRS, OURS = "default-scheduler", "dovetail"
OURS_COMMAND = [sys.executable, "-m", "dovetail", "kubernetes", "scheduler", "--no-elect", "--kubeconfig"]
NODES, PODS = "/api/v1/nodes", "/api/v1/namespaces/default/pods"
DRIVER = "gpu.example.com"
GIVEN_UP_S = 900.0
MEMORY_MB = 150.0
WIDTH = 48


@dataclass(frozen=True)
class Scenario:
    name: str
    bar: float | None
    nodes: int
    pods: int
    wants: Callable[[int], Json]  # the spec of a pod, and its labels under "labels"
    before: int = 0  # pods on each node that are less urgent and fill it
    cpu: str = "32"
    devices: int = 0  # on each node, of which each pod claims one
    victims: int = 0  # of those before, that have to go for each pod


def plain(_: int) -> Json:
    return {}


def _apart(_: int) -> Json:
    """All on nodes of their own, as in kube-scheduler's own benchmark of anti-affinity."""
    term = {"labelSelector": {"matchLabels": {"app": "apart"}}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "labels": {"app": "apart"},
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
    }


def _spread(_: int) -> Json:
    rule = {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
    return {
        "labels": {"app": "even"},
        "topologySpreadConstraints": [rule | {"labelSelector": {"matchLabels": {"app": "even"}}}],
    }


def _urgent(_: int) -> Json:
    return {"priorityClassName": "urgent", "cpu": "3"}


#: Devices have no bar: there is nothing to hold the figure against yet.
#: Enough pods for a rate that lasts, and not for the start alone: as many plain ones as in kube-scheduler's own
#: benchmark, and where each wants a node, or most of one, for itself, up to one for every node.
SCENARIOS = (
    Scenario("plain_1000", 3.0, 1_000, 10_000, plain),
    Scenario("plain_5000", 3.0, 5_000, 10_000, plain),
    Scenario("anti_affinity_5000", 8.0, 5_000, 5_000, _apart),
    Scenario("zone_spread_5000", 4.0, 5_000, 3_000, _spread),
    Scenario("preemption_1000", 8.0, 1_000, 1_000, _urgent, before=4, cpu="4", victims=3),
    Scenario("preemption_5000", 8.0, 5_000, 2_000, _urgent, before=4, cpu="4", victims=3),
    Scenario("devices_500", None, 500, 2_000, plain, devices=8),
)
RESTARTED = Scenario("restart", None, 5_000, 1, plain, before=4)
RATIOS = [Bar(f"kubernetes.{one.name}", "x kube-scheduler", Better.HIGHER, one.bar) for one in SCENARIOS]
ALONE = [
    Bar(f"kubernetes.{one.name}_requests_alone", "pods/s", Better.HIGHER, None) for one in SCENARIOS if one.victims
]
RATES = [Bar(f"kubernetes.{one.name}_pods_per_s", "pods/s", Better.HIGHER, None) for one in SCENARIOS]
MEMORY = at_most("kubernetes.memory_beyond_theirs", MEMORY_MB, "MB")
RESTART = at_most("kubernetes.restart_to_first_bind", 10.0, "s")


class Count:
    """Pods that have a node, as they get it."""

    def __init__(self) -> None:
        self.bound: set[str] = set()

    def hear(self, changes: list[ObjectChange]) -> None:
        for change in changes:
            if change.kind is not ChangeKind.DELETED and change.object["spec"].get("nodeName"):
                self.bound.add(change.object["metadata"]["name"])


@benchmark(RESTART)
def restart(bench: Bench) -> Iterator[tuple[str, Measured]]:
    """From the start of the process, on a cluster that is full of pods, to the binding of one that waits."""
    prepare()
    with kube_server(durable=True) as server:
        size = f"{RESTARTED.nodes:,} nodes, {RESTARTED.nodes * RESTARTED.before:,} pods"
        bench.say(f"creating {size}")
        seconds, memory_mb = uvloop.run(play(server, RESTARTED, OURS, ours))
    yield RESTART.name, once(seconds, f"{size}, {memory_mb:.0f} MB")


@benchmark(*RATIOS, *RATES, *ALONE, MEMORY)
def beside_kube_scheduler(bench: Bench) -> Iterator[tuple[str, Measured]]:
    prepare()
    most = 0.0
    for scenario in SCENARIOS:
        rates: dict[str, float] = {}
        memory: dict[str, float] = {}
        for scheduler in (THEIRS, OURS):
            with kube_server(durable=True) as server:
                run = theirs if scheduler == THEIRS else ours
                seconds, memory[scheduler] = uvloop.run(play(server, scenario, scheduler, run))
                rates[scheduler] = scenario.pods / seconds
                words = f"{scenario.pods} pods in {seconds:.1f} s, {rates[scheduler]:.0f}/s, {memory[scheduler]:.0f} MB"
                bench.say(f"{scenario.name}, {scheduler}: {words}")
        most = max(most, memory[OURS] - memory[THEIRS])
        how = f"{rates[OURS]:.0f} to {rates[THEIRS]:.0f} pods/s"
        yield f"kubernetes.{scenario.name}", once(rates[OURS] / rates[THEIRS], how)
        yield f"kubernetes.{scenario.name}_pods_per_s", once(rates[OURS], f"{scenario.pods} pods")
        if scenario.victims:
            with kube_server(durable=True) as server:
                rate = scenario.pods / uvloop.run(_requests_alone(server, scenario))
            bench.say(f"{scenario.name}, the requests alone: {rate:.0f}/s")
            yield f"kubernetes.{scenario.name}_requests_alone", once(rate, "nobody decides, nobody watches")
    yield MEMORY.name, once(most, "the most of all scenarios")


async def play(server: Any, scenario: Scenario, scheduler: str, run: Any) -> tuple[float, float]:
    """Seconds to the last binding, and megabytes of the scheduler."""
    async with Api(read_kubeconfig([server.kubeconfig]), width=WIDTH) as api:
        await _made(api, scenario, scheduler)
        count = Count()
        reflector = Reflector(api, PODS, count.hear, fields=f"spec.schedulerName={scheduler}")
        informer = asyncio.create_task(reflector.run())
        await reflector.synced.wait()
        began = time.monotonic()
        with run(server) as pid:
            while len(count.bound) < scenario.pods:
                if time.monotonic() - began > GIVEN_UP_S:
                    raise RuntimeError(f"{scheduler} bound {len(count.bound)} of {scenario.pods} pods")
                await asyncio.sleep(0.01)
            seconds = time.monotonic() - began
            memory_mb = psutil.Process(pid).memory_info().rss / 2**20
        informer.cancel()
        return seconds, memory_mb


async def _requests_alone(server: Any, scenario: Scenario) -> float:
    """Seconds for the deletions and bindings of a scenario."""
    async with Api(read_kubeconfig([server.kubeconfig]), width=WIDTH) as api:
        await _made(api, scenario, OURS)
        uids = {one["metadata"]["name"]: one["metadata"]["uid"] for one in await api.items(PODS)}
        left = iter(range(scenario.pods))

        async def work() -> None:
            for number in left:
                victims = [f"b{number}-{k}" for k in range(scenario.victims)]
                await asyncio.gather(*[delete(api, "default", name, uid=uids[name]) for name in victims])
                await bind(api, "default", f"p{number}", f"n{number}", uids[f"p{number}"])

        began = time.monotonic()
        await asyncio.gather(*[work() for _ in range(WIDTH)])
        return time.monotonic() - began


async def _made(api: Api, scenario: Scenario, scheduler: str) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    for name, value in (("urgent", 1000), ("spare", 1)):
        with suppress(AlreadyExists):
            await api.create(classes, {"metadata": {"name": name}, "value": value, "description": "of a benchmark"})
    await _all(api, NODES, [_node(i, scenario.cpu) for i in range(scenario.nodes)])
    before = [
        _pod(f"b{i}-{k}", "nobody", {"priorityClassName": "spare"}, f"n{i}")
        for i in range(scenario.nodes)
        for k in range(scenario.before)
    ]
    await _all(api, PODS, before)
    if scenario.devices:
        await _offer_devices(api, scenario)
    pods = [_pod(f"p{i}", scheduler, scenario.wants(i)) for i in range(scenario.pods)]
    if scenario.devices:
        for number, pod in enumerate(pods):
            pod["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"c{number}"}]
    await _all(api, PODS, pods)


async def _offer_devices(api: Api, scenario: Scenario) -> None:
    """As many on every node, and claims of one each that leave the choice among them."""
    ours = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    large = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
    wanted = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    wanted["selectors"] = [{"cel": {"expression": large}}]
    claim = {"devices": {"requests": [{"name": "gpu", "exactly": wanted}]}}
    await api.create(f"{DEVICES}/deviceclasses", {"metadata": {"name": "gpu"}, "spec": {"selectors": [ours]}})
    await _all(api, f"{DEVICES}/resourceslices", [_slice(f"n{i}", scenario.devices) for i in range(scenario.nodes)])
    claims = [{"metadata": {"name": f"c{i}"}, "spec": claim} for i in range(scenario.pods)]
    await _all(api, f"{DEVICES}/namespaces/default/resourceclaims", claims)


def _slice(node: str, devices: int) -> Json:
    offered = [{"name": f"gpu-{i}", "capacity": {"memory": {"value": "80Gi"}}} for i in range(devices)]
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return {"metadata": {"name": node}, "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": offered}}


async def _all(api: Api, path: str, bodies: list[Json]) -> None:
    for at in range(0, len(bodies), 1000):
        await asyncio.gather(*[api.create(path, body) for body in bodies[at : at + 1000]])


def _node(number: int, cpu: str) -> Json:
    amounts = {"cpu": cpu, "memory": "256Gi", "pods": "110"}
    labels = {"kubernetes.io/hostname": f"n{number}", "topology.kubernetes.io/zone": f"z{number % 10}"}
    return {
        "metadata": {"name": f"n{number}", "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _pod(name: str, scheduler: str, wants: Json, node: str = "") -> Json:
    wants = dict(wants)
    labels, cpu = wants.pop("labels", {"app": "plain"}), wants.pop("cpu", "1" if node else "100m")
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu, "memory": "100Mi"}}}
    # No kubelet is there to end what is deleted: it goes at once.
    usual = {"schedulerName": scheduler, "terminationGracePeriodSeconds": 0, "containers": [container]}
    spec = {**usual, **wants} | ({"nodeName": node} if node else {})
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


@contextmanager
def theirs(server: Any) -> Iterator[int]:
    with server.start_scheduler(unbridled(server)) as found:
        yield found.daemon.pid


def unbridled(server: Any) -> Json:
    """As shipped it allows itself fifty calls a second, which would be all that is measured."""
    return {"clientConnection": {"kubeconfig": str(server.kubeconfig), "qps": 5000, "burst": 10000}}


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def prepare() -> None:
    """Ours is compiled as an installation has it; theirs is, too."""
    if command_of("kube-scheduler") is None:
        raise NotRun("the Kubernetes programs are not built; make test-deps builds them")
    subprocess.run([*OURS_COMMAND, os.devnull], env=_environment(), capture_output=True, check=False)


@contextmanager
def ours(server: Any) -> Iterator[int]:
    found = subprocess.Popen([*OURS_COMMAND, str(server.kubeconfig)], env=_environment(), stderr=subprocess.DEVNULL)
    try:
        yield found.pid
    finally:
        found.terminate()
        found.wait(30)
