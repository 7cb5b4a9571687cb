"""The page `docs/tutorials/kubernetes.md`, followed literally with a real API server and three nodes that run pods.

In the end every state is compared with the API server's own records."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from tests.e2e.docs.engines import Engine
from tests.e2e.docs.page import read_page
from tests.e2e.docs.runner import ROOT, PageRunner
from tests.e2e.docs.task_rows import running_nodes, tasks_by_key
from tests.patience import wait_for
from tests.servers.daemon import skip_without
from tests.servers.kubelet import Kubelet, kubelet, namespace
from tests.servers.kubernetes.server import KubeServer
from tests.servers.slowed import Slowed

from dovetail.backends.kubernetes.naming import KEY
from dovetail.backends.kubernetes.outcome import NOT_STARTED_EXIT
from dovetail.client import Client
from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

PAGE = ROOT / "docs" / "tutorials" / "kubernetes.md"
NODES = ("worker-1", "worker-2", "worker-3")
NAMESPACES = ("batch", "reef", "surf")


class Wire:
    """Between Dovetail and the API server; TLS passes through it."""

    def __init__(self, server: KubeServer) -> None:
        self._proxy = LossyProxy(server.url.removeprefix("https://"))
        self._cut = ExitStack()
        self._server = server

    @contextmanager
    def laid(self, folder: Path) -> Iterator[Path]:
        """A kubeconfig that leads through it."""
        with self._proxy, self._cut:
            config = yaml.safe_load(self._server.kubeconfig.read_text())
            config["clusters"][0]["cluster"]["server"] = f"https://{self._proxy.address}"
            path = folder / "kubeconfig.yaml"
            path.write_text(yaml.safe_dump(config))
            yield path

    def cut(self) -> None:
        self._cut.enter_context(self._proxy.broken())

    def mend(self) -> None:
        self._cut.close()


def power_off(node: Kubelet) -> None:
    """The kubelet and everything in its pods are gone at once."""
    processes = psutil.Process(node.daemon.pid).children(recursive=True)
    node.daemon.kill()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def test_the_page_can_be_followed_literally(kube_server: KubeServer, tmp_path: Path) -> None:
    skip_without("kubectl")
    wire, slow = Wire(kube_server), Slowed(kube_server.apiserver)
    with ExitStack() as ends:
        for name in NAMESPACES:
            ends.enter_context(namespace(kube_server, name))
        nodes = [ends.enter_context(kubelet(kube_server, name)) for name in NODES]
        kubeconfig = ends.enter_context(wire.laid(tmp_path))
        hooks = {
            "restart": kube_server.restart,
            "cut off": wire.cut,
            "reconnect": wire.mend,
            "slow": slow.start,
            "speed up": slow.end,
            "power off": lambda: power_off(nodes[1]),
            "power on": nodes[1].start,
        }
        places = {"~/.kube/config": str(kubeconfig), "busybox:1.63": "missing/busybox:1.63"}
        engine = Engine(places, {"KUBECONFIG": str(kube_server.kubeconfig)}, hooks)
        ends.callback(_remove_priority_classes, kube_server)
        ends.callback(slow.end)
        with PageRunner(tmp_path, engine) as runner:
            for block in read_page(PAGE, str(PAGE.relative_to(ROOT))):
                runner.run(block)
            with Client(runner.url) as client:
                wait_for(lambda: running_nodes(client) == _running_pods(kube_server), "agreement on what runs")
                _assert_ends_agree(client, kube_server)


def _remove_priority_classes(server: KubeServer) -> None:
    with server.client() as client:
        for name in ("tutorial-low", "tutorial-urgent"):
            client.delete(f"/apis/scheduling.k8s.io/v1/priorityclasses/{name}")


def _pods(server: KubeServer) -> dict[str, dict[str, Any]]:
    """Asked of the API server itself, by key."""
    with server.client() as client:
        items = client.get("/api/v1/namespaces/batch/pods").json()["items"]
    return {item["metadata"]["labels"][KEY]: item for item in items}


def _running_pods(server: KubeServer) -> dict[str, object]:
    return {key: one["spec"]["nodeName"] for key, one in _pods(server).items() if one["status"]["phase"] == "Running"}


def _assert_ends_agree(client: Client, server: KubeServer) -> None:
    tasks, pods = tasks_by_key(client), _pods(server)
    ends = {"succeeded": "Succeeded", "failed": "Failed"}
    for key, task in tasks.items():
        found = pods.get(key)
        phase = None if found is None else found["status"]["phase"]
        where = f"{key}: {task['state']}, exit {task['exit_code']}, and in the cluster {found}"
        if found is None or phase == "Pending":  # refused before it had a pod, or stopped before
            assert task["exit_code"] is None, where
            assert task["state"] in ("failed", "cancelled"), where
        elif task["state"] in ends:
            assert phase == ends[task["state"]], where
            assert task["exit_code"] == _exit_code(found), where
        elif task["state"] == "cancelled":
            assert phase == "Failed", where
    # The others belong to attempts that were preempted, moved, lost or tried again: none runs, and none has succeeded.
    assert {pods[key]["status"]["phase"] for key in pods.keys() - tasks.keys()} <= {"Failed", "Pending"}


def _exit_code(pod: dict[str, Any]) -> int:
    """That of its container; one whose image could not be had never ran."""
    (status,) = pod["status"]["containerStatuses"]
    ended = status["state"].get("terminated")
    return NOT_STARTED_EXIT if ended is None else int(ended["exitCode"])
