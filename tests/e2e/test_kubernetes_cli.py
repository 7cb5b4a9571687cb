"""A Kubernetes cluster behind `dovetail serve`: what people read of pods that do not start."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.e2e.test_cli import Shell, serving
from tests.patience import wait_for
from tests.servers.kubelet import kubelet, namespace
from tests.servers.kubernetes.server import KubeServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
NAMESPACE, NODE = "of-the-cli", "of-the-cli-a"


@pytest.fixture(scope="module")
def dovetail(kube_server: KubeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("kubernetes-cli")
    with ExitStack() as stack:
        stack.enter_context(namespace(kube_server, NAMESPACE))
        stack.enter_context(kubelet(kube_server, NODE))
        url, _ = stack.enter_context(serving(folder / "data"))
        shell = Shell(url)
        settings = [f"kubeconfig={kube_server.kubeconfig}", f"namespace={NAMESPACE}", "allow_paths=[/]"]
        settings += [f"nodes=kubernetes.io/hostname={NODE}"]
        shell("backend", "add", "cluster", "--kind", "kubernetes", *[f"--set={one}" for one in settings])
        yield shell


def shows(dovetail: Shell, words: str, *command: str) -> str:
    """What the command prints as soon as it has these words, however they are broken into lines."""

    def printed() -> str:
        text = dovetail(*command).stdout
        return text if words in " ".join(text.split()) else ""

    return wait_for(printed, f"dovetail {' '.join(command)} to say {words!r}")


def test_why_a_pod_does_not_start_is_seen_wherever_people_look(dovetail: Shell, tmp_path: Path) -> None:
    files = {
        "typo": "run: {image: 'missing/image:1', command: ['true']}",
        "volume": f"run: {{image: any, command: ['true'], volumes: [{{source: {tmp_path}/missing, target: /data}}]}}",
    }
    for name, run in files.items():
        (tmp_path / f"{name}.yaml").write_text(
            f"name: {name}\nconstraints: [require: node.backend == 'cluster']\n{run}\n"
        )
        dovetail("submit", "-f", str(tmp_path / f"{name}.yaml"))
    image = 'ImagePullBackOff: failed to pull image "missing/image:1": not found'
    folder = "ContainerCreating: FailedMount: hostPath type check failed"
    for name, words in (("typo", image), ("volume", folder)):
        shows(dovetail, words, "get", name)
        shows(dovetail, words, "describe", name)
        shows(dovetail, f"has not started: {words}", "explain", name)
    (tmp_path / "missing").mkdir()
    assert "FailedMount" not in shows(dovetail, "succeeded", "get", "volume")
    dovetail("cancel", "typo")
