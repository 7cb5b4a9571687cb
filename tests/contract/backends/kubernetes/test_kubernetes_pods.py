"""What only Kubernetes does to tasks: kills, evicts, forgets; and what its people do behind our back."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Rig, Subject, run_async, started
from tests.contract.backends.kubernetes.rig import NAMESPACE, Line, kubernetes_subject, shell
from tests.servers.kubelet import Kubelet
from tests.servers.kubernetes.server import KubeServer

from dovetail.backends import retention
from dovetail.backends.contract import Assignment, KillingBackend, Phase, Refusal
from dovetail.kubernetes_client.errors import BadRequest
from dovetail.model.event import BindFailed, NodeHealthChanged, NodeJoined, TaskFinished, TaskStarted
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"


@pytest.fixture
def subject(tmp_path: Path, line: Line, kubelet: Kubelet) -> Subject:
    return kubernetes_subject(tmp_path, line, kubelet, start_patience_s="1s")


def name_of(subject: Subject, server: KubeServer, key: str) -> str:
    """The pod of an attempt; owners differ, so that keys of different tests do not meet."""
    with server.client() as client:
        found = client.get(PODS, params={"labelSelector": f"dovetail.dev/key={key}"}).json()["items"]
    (name,) = [item["metadata"]["name"] for item in found if owner_of(subject) in item["metadata"]["name"]]
    return str(name)


def owner_of(subject: Subject) -> str:
    return str(getattr(subject.backend_factory(), "_folder").joinpath("owner").read_text())  # noqa: B009


def scene_of(subject: Subject, spec: Workload, then: Callable[[Rig, Assignment], Awaitable[None]]) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, spec)
            await rig.backend.bind(work)
            await then(rig, work)

    run_async(scene)


def end_of(subject: Subject, spec: Workload) -> TaskFinished:
    ends: list[TaskFinished] = []

    async def then(rig: Rig, work: Assignment) -> None:
        ends.append(await rig.finished(work.key))

    scene_of(subject, spec, then)
    return ends[0]


def test_more_memory_than_the_limit_is_said_to_be_the_end(subject: Subject) -> None:
    hungry = 'python3 -c "import time; x = bytearray(200_000_000); time.sleep(60)"'
    end = end_of(subject, shell(hungry, limits={"memory": "64MiB"}))
    assert (end.exit_code, end.reason.split(":")[0]) == (137, "OOMKilled")
    assert "its limit of 64MiB" in end.reason


def test_a_time_limit_ends_a_task(subject: Subject) -> None:
    end = end_of(subject, shell("sleep 60", deadline={"run_for": "1s"}))
    assert (end.exit_code, end.reason) == (124, "stopped: it ran longer than its time limit of 1 s")


def test_a_pod_with_a_long_grace_period_can_be_killed(subject: Subject) -> None:
    async def then(rig: Rig, work: Assignment) -> None:
        await rig.reports.until(TaskStarted, work.key)
        await rig.backend.stop(work.key, "please")
        assert isinstance(rig.backend, KillingBackend)
        await rig.backend.kill(work.key, "now")
        assert (await rig.finished(work.key)).exit_code is None

    scene_of(subject, shell("trap '' TERM; while :; do sleep 0.1; done", disruption={"grace": "365d"}), then)


def test_an_image_that_cannot_be_had_fails_the_task_with_the_words(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.backends.kubernetes.backend.UPKEEP_S", 0.1)
    spec = Workload.model_validate({"name": "typo", "run": {"image": "missing/image:1", "command": ["true"]}})
    end = end_of(subject, spec)
    assert end.exit_code == 125
    assert end.reason.startswith('could not be started: ImagePullBackOff: failed to pull image "missing/image:1"')


def test_what_the_node_does_not_take_is_a_bind_that_failed(subject: Subject) -> None:
    async def then(rig: Rig, work: Assignment) -> None:
        def refusals() -> list[str]:
            return [event.reason for event in rig.reports.of(BindFailed) if event.key == work.key]

        await rig.reports.until_true(lambda: bool(refusals()), "the refusal")
        assert refusals() == ["the node did not take it: OutOfcpu: Node didn't have enough cpu"]
        assert (await rig.backend.status(work.key)).phase is Phase.ENDED
        rig.assert_never_run(work.key)

    scene_of(subject, shell("true", resources={"cpu": 1000}), then)


@pytest.mark.parametrize(("grace_s", "words"), [(None, "deleted by somebody else"), (0, "deleted by force")])
def test_a_pod_that_somebody_deletes_is_lost_and_stays_so(
    subject: Subject, kube_server: KubeServer, grace_s: int | None, words: str
) -> None:
    async def then(rig: Rig, work: Assignment) -> None:
        await rig.reports.until(TaskStarted, work.key)
        body = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        with kube_server.client() as client:
            client.request("DELETE", f"{PODS}/{name_of(subject, kube_server, work.key)}", json=body).raise_for_status()
        end = await rig.finished(work.key)
        assert end.exit_code is None
        assert words in end.reason
        assert subject.runs_now is not None
        await rig.reports.until_true(lambda: not subject.runs_now(work.key), "its end on the node")  # type: ignore[misc]
        await rig.backend.bind(work)  # the control plane had not heard of the end
        assert (await rig.finished(work.key)).exit_code is None
        rig.assert_run_once(work.key)

    scene_of(subject, subject.workload(3600, 0, ""), then)


def test_an_eviction_is_told_as_one(subject: Subject, kube_server: KubeServer) -> None:
    async def then(rig: Rig, work: Assignment) -> None:
        await rig.reports.until(TaskStarted, work.key)
        name = name_of(subject, kube_server, work.key)
        with kube_server.client() as client:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            client.post(f"{PODS}/{name}/eviction", json=body).raise_for_status()
        end = await rig.finished(work.key)
        assert end.exit_code is None
        assert end.reason.startswith("lost: EvictionByEvictionAPI")

    scene_of(subject, subject.workload(3600, 0, ""), then)


def test_an_end_while_the_api_server_is_killed_is_told_when_it_is_back(
    subject: Subject, kube_server: KubeServer
) -> None:
    async def then(rig: Rig, work: Assignment) -> None:
        await rig.reports.until(TaskStarted, work.key)
        await asyncio.to_thread(kube_server.restart)
        assert (await rig.finished(work.key)).exit_code == 7
        rig.assert_run_once(work.key)

    scene_of(subject, subject.workload(1.0, 7, ""), then)


def test_output_is_followed_while_the_task_runs(subject: Subject, tmp_path: Path) -> None:
    go = tmp_path / "go"

    async def then(rig: Rig, work: Assignment) -> None:
        async def read_until(text: str, offset: int) -> int:
            found = ""
            while text not in found:
                chunk = await rig.backend.logs(work.key, offset, 10_000)
                assert not chunk.ended
                found, offset = found + chunk.text, chunk.next_offset
            return offset

        offset = await read_until("first\n", 0)
        assert offset == len("first\n")
        go.touch()
        offset = await read_until("second\n", offset)
        assert await read_until("second\n", len("first\n")) == offset  # anybody else may read it from anywhere
        go.unlink()
        await rig.finished(work.key)
        chunk = await rig.backend.logs(work.key, offset, 10_000)
        while not chunk.ended:
            chunk = await rig.backend.logs(work.key, chunk.next_offset, 10_000)
        assert chunk.next_offset == offset + len("third\n")

    wait = f"while [ ! -e {go} ]; do sleep 0.05; done"
    script = f"echo first; {wait}; echo second; while [ -e {go} ]; do sleep 0.05; done; echo third"
    scene_of(subject, shell(script), then)


def test_what_others_take_is_not_offered(subject: Subject, kube_server: KubeServer, kubelet: Kubelet) -> None:
    """The pod of a stranger on our node: its two processors are not ours until it goes."""

    def cpus(rig: Rig) -> float:
        return [event.node for event in rig.reports.of(NodeJoined)][-1].capacity.cpu

    async def scene() -> None:
        async with started(subject) as rig:
            assert cpus(rig) == 4
            container = {"name": "main", "image": "x", "command": ["sleep", "60"]}
            container_of: dict[str, Any] = {**container, "resources": {"requests": {"cpu": "2"}}}
            body = {"metadata": {"name": "stranger"}, "spec": {"nodeName": kubelet.name, "containers": [container_of]}}
            with kube_server.client() as client:
                client.post(PODS, json=body).raise_for_status()
                await rig.reports.until_true(lambda: cpus(rig) == 2, "less room")
                client.request("DELETE", f"{PODS}/stranger", json={"gracePeriodSeconds": 0}).raise_for_status()
            await rig.reports.until_true(lambda: cpus(rig) == 4, "the room back")

    run_async(scene)


def online(rig: Rig) -> bool:
    """As whoever hears of a node takes it: one that joins is well."""
    words = [event for event in rig.reports.received if isinstance(event, NodeJoined | NodeHealthChanged)]
    return isinstance(words[-1], NodeJoined) or words[-1].online


def test_a_node_that_is_unwell_or_cordoned_is_told_so(
    subject: Subject, kube_server: KubeServer, kubelet: Kubelet
) -> None:
    async def scene() -> None:
        async with started(subject) as rig:
            path = f"/api/v1/nodes/{kubelet.name}"
            with kube_server.client() as client, kubelet.frozen():
                silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "silent"}
                patch = {"Content-Type": "application/strategic-merge-patch+json"}
                body = {"status": {"conditions": [silent]}}
                client.patch(f"{path}/status", json=body, headers=patch).raise_for_status()
                away = NodeHealthChanged(kubelet.name, False, "NodeStatusUnknown: silent")
                await rig.reports.until_true(lambda: away in rig.reports.received, "the node's silence")
                client.patch(path, json={"spec": {"unschedulable": True}}, headers=patch).raise_for_status()
                await rig.reports.until_true(lambda: bool(rig.reports.nodes[0].taints), "the cordon")
                client.patch(path, json={"spec": {"unschedulable": None}}, headers=patch).raise_for_status()
            await rig.reports.until_true(lambda: online(rig), "the node again")
            await rig.reports.until_true(lambda: not rig.reports.nodes[0].taints, "the end of the cordon")

    run_async(scene)


def test_a_scheduler_of_the_cluster_may_do_the_binding(
    tmp_path: Path, line: Line, kubelet: Kubelet, kube_server: KubeServer
) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet, scheduler="stock")

    async def then(rig: Rig, work: Assignment) -> None:
        assert (await rig.finished(work.key)).exit_code == 3

    with kube_server.start_scheduler({"profiles": [{"schedulerName": "stock"}]}):
        scene_of(subject, subject.workload(0, 3, ""), then)


def test_old_pods_go_and_their_finalizers_with_them(
    tmp_path: Path, line: Line, kubelet: Kubelet, kube_server: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail.backends.kubernetes.backend.UPKEEP_S", 0.1)
    monkeypatch.setattr(retention, "SETTLE_S", 0.0)
    subject = kubernetes_subject(tmp_path, line, kubelet, keep_pods=1)

    async def scene() -> None:
        async with started(subject) as rig:
            works = [rig.assignment(1, subject.workload(0, 0, ""), attempt) for attempt in (1, 2)]
            for work in works:
                await rig.backend.bind(work)
                await rig.finished(work.key)
            await rig.backend.stop("1.0.3", "never mind")  # leaves a pod that keeps its name
            await rig.finished("1.0.3")

            def left() -> list[str]:
                label = f"dovetail.dev/owner={owner_of(subject)}"
                with kube_server.client() as client:
                    items = client.get(PODS, params={"labelSelector": label}).json()["items"]
                return [item["metadata"]["labels"]["dovetail.dev/key"] for item in items]

            await rig.reports.until_true(lambda: left() == ["1.0.3"], "the old pods to go")
            with pytest.raises(Refusal):
                await rig.backend.bind(rig.assignment(1, subject.workload(0, 0, ""), 3))
            with pytest.raises(KeyError):
                await rig.backend.status(works[0].key)

    run_async(scene)


def test_a_selector_that_is_none_is_said_at_the_start(tmp_path: Path, line: Line, kubelet: Kubelet) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet, nodes="no selector at all")

    async def scene() -> None:
        with pytest.raises(BadRequest, match="unable to parse"):
            await subject.backend_factory().start(lambda _event: asyncio.sleep(0))

    run_async(scene)


def test_an_address_nobody_answers_at_is_said_at_the_start(tmp_path: Path, line: Line, kubelet: Kubelet) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet)

    async def scene() -> None:
        backend = subject.backend_factory()
        async with line.break_calls():
            with pytest.raises(Exception, match="no answer from the Kubernetes API"):
                await backend.start(lambda _event: asyncio.sleep(0))
        await backend.start(lambda _event: asyncio.sleep(0))  # the same one may be started again
        assert [node.name for node in await backend.nodes()] == [kubelet.name]
        await backend.close()

    run_async(scene)
