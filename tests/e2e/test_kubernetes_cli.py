"""A Kubernetes cluster behind `dovetail serve`: what people read of pods that do not start, and of a cluster that does
not let us in."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import yaml
from tests.e2e.test_cli import Shell, serving
from tests.patience import wait_for
from tests.servers.kubelet import kubelet, namespace
from tests.servers.kubernetes.server import KubeServer
from tests.servers.own_token import OWN_TOKEN

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.registry import BackendEntry, check_entry

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
NAMESPACE, NODE = "of-the-cli", "of-the-cli-a"
LOGS: dict[str, Path] = {}


@pytest.fixture(scope="module")
def dovetail(kube_server: KubeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("kubernetes-cli")
    with ExitStack() as stack:
        stack.enter_context(namespace(kube_server, NAMESPACE))
        stack.enter_context(kubelet(kube_server, NODE))
        usual = {"kind": "kubernetes", "namespace": NAMESPACE, "nodes": f"kubernetes.io/hostname={NODE}"}
        cluster = usual | {"kubeconfig": str(kube_server.kubeconfig), "allow_paths": ["/"]}
        denied = usual | {"kubeconfig": str(revoked(kube_server, folder))}
        settings = folder / "settings.yaml"
        settings.write_text(yaml.safe_dump({"backends": {"cluster": cluster, "denied": denied}}))
        url, _ = stack.enter_context(serving(folder / "data", "--config", str(settings)))
        LOGS[url] = folder / "data.log"
        yield Shell(url)


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


def add(dovetail: Shell, *settings: str, kind: str = "kubernetes", name: str = "other", rc: int = 2) -> str:
    """What is said of it."""
    done = dovetail("backend", "add", name, "--kind", kind, *[f"--set={one}" for one in settings], rc=rc)
    return " ".join((done.stdout + done.stderr).split())


def unusable(**settings: object) -> str:
    """Why the settings file, which may name files, cannot have this backend."""
    with pytest.raises(UnusableSetting) as caught:
        check_entry(BackendEntry.model_validate(settings))
    return f"{caught.value.field}: {caught.value}"


def test_a_backend_that_could_never_work_here_is_not_added(
    dovetail: Shell, kube_server: KubeServer, tmp_path: Path
) -> None:
    no_yaml = tmp_path / "no.yaml"
    no_yaml.write_text("{")
    config = str(kube_server.kubeconfig)
    missing = unusable(kind="kubernetes", kubeconfig="/nowhere")
    assert "kubeconfig: cannot read the kubeconfig /nowhere: No such file" in missing
    assert "is not YAML" in unusable(kind="kubernetes", kubeconfig=str(no_yaml))
    assert "has no context 'prod'; it has:" in unusable(kind="kubernetes", kubeconfig=config, context="prod")
    assert "put the backend into the settings file" in add(dovetail, f"kubeconfig={config}")
    socket = "hosts=[{name: here, url: 'unix:///nowhere.sock'}]"
    assert "hosts[0].url: there is no socket /nowhere.sock" in add(dovetail, socket, kind="docker")
    file = f"hosts=[{{name: here, url: 'unix://{no_yaml}'}}]"
    assert "is not a socket" in add(dovetail, file, kind="docker")
    assert "url: there is no socket /nowhere.sock" in add(dovetail, "url=unix:/nowhere.sock", kind="slurm")
    no_conf = unusable(kind="slurm", url="http://127.0.0.1:1", conf="/nowhere")
    assert "conf: there is no file /nowhere" in no_conf
    listed = json.loads(dovetail("backend", "list", "-o", "json").stdout)
    assert "other" not in [row["name"] for row in listed]


def revoked(server: KubeServer, folder: Path) -> Path:
    """A kubeconfig whose token the server does not know."""
    config = yaml.safe_load(server.kubeconfig.read_text())
    for user in config["users"]:
        user["user"] = {"token": "revoked"}
    path = folder / "revoked.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def test_credentials_that_are_not_accepted_are_shown_counted_and_logged_once(dovetail: Shell) -> None:
    shown = " ".join(shows(dovetail, "does not accept our credentials (401)", "backend", "show", "denied").split())
    assert "dovetail backend add denied --replace" in shown
    assert "revoked or expired" in " ".join(dovetail("backend", "list").stdout.split())

    def counted() -> bool:
        text = httpx.get(f"{dovetail.url}/metrics", auth=OWN_TOKEN).text
        failed = 'dovetail_backend_calls_total{backend="denied",call="start",outcome="failed"} '
        tries = [float(line.removeprefix(failed)) for line in text.splitlines() if line.startswith(failed)]
        assert 'dovetail_backend_available{backend="denied"} 0.0' in text
        return bool(tries) and tries[0] >= 3

    wait_for(counted, "three failed starts to be counted")
    log = LOGS[dovetail.url].read_text()
    assert log.count("does not accept our credentials") == 1
