"""Volumes of tasks in a real cluster: the API server takes what is mounted, and claims that are of no use are refused.

The kubelet of these tests mounts nothing; the scheduler is a stock one. There is no volume controller: a test plays it.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.contract.backends.conformance import PATIENCE_S, Subject, run_async, started
from tests.contract.backends.kubernetes.rig import NAMESPACE, Line, kubernetes_subject
from tests.servers.kubelet import Kubelet
from tests.servers.kubernetes.server import KubeServer
from tests.servers.kubernetes.server import kube_server as run_kubernetes

from dovetail.backends.contract import Refusal
from dovetail.backends.kubernetes.backend import KubernetesBackend
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
VOLUMES, CLASSES = "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/storageclasses"
LATER, AT_ONCE = "later-for-tasks", "at-once-for-tasks"
MERGE = {"Content-Type": "application/merge-patch+json"}


@pytest.fixture
def client(kube_server: KubeServer, line: Line) -> Iterator[httpx.Client]:
    """With classes of both kinds; no claim and no volume is left over."""
    with kube_server.client() as client:
        make_classes(client)
        try:
            yield client
        finally:
            for path in (CLAIMS, VOLUMES):
                for item in client.get(path).json()["items"]:
                    remove(client, f"{path}/{item['metadata']['name']}")
            for name in (LATER, AT_ONCE):
                client.delete(f"{CLASSES}/{name}")


def make_classes(client: httpx.Client) -> None:
    for name, mode in ((LATER, "WaitForFirstConsumer"), (AT_ONCE, "Immediate")):
        body = {"metadata": {"name": name}, "provisioner": "disk.example.com", "volumeBindingMode": mode}
        client.post(CLASSES, json=body).raise_for_status()


def claim(client: httpx.Client, name: str, kind: str, volume: str = "", namespace: str = NAMESPACE) -> dict[str, Any]:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": kind}
    body = {"metadata": {"name": name}, "spec": {**asked, **({"volumeName": volume} if volume else {})}}
    made: dict[str, Any] = client.post(CLAIMS.replace(NAMESPACE, namespace), json=body).raise_for_status().json()
    return made


def remove(client: httpx.Client, path: str) -> None:
    """Though nobody is there who would let go of it."""
    client.patch(path, json={"metadata": {"finalizers": None}}, headers=MERGE).raise_for_status()
    client.delete(path).raise_for_status()


def mounting(*volumes: dict[str, Any], exit_code: int = 0) -> Workload:
    command = ["/bin/sh", "-c", f"exit {exit_code}"]
    run = {"image": "this-machine", "command": command, "volumes": list(volumes)}
    return Workload.model_validate({"name": "work", "run": run})


def pods_of(client: httpx.Client, owner: str) -> list[Any]:
    return list(client.get(PODS, params={"labelSelector": f"dovetail.dev/owner={owner}"}).json()["items"])


def test_a_pod_on_its_node_mounts_claims_and_allowed_folders(
    tmp_path: Path, line: Line, kubelet: Kubelet, client: httpx.Client
) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet, allow_paths=["/srv"], owner="mounts-directly")
    claim(client, "bound", LATER, volume="disk-1")  # a class that waited before it was bound
    claim(client, "soon", AT_ONCE)
    claim(client, "by-hand", "")
    volumes: list[dict[str, Any]] = [
        {"source": "bound", "target": "/in", "read_only": True},
        {"source": "soon", "target": "/out"},
        {"source": "soon", "target": "/out-again", "read_only": True},
        {"source": "by-hand", "target": "/more"},
        {"source": "/srv/data sets/", "target": "/data"},
    ]
    spec = mounting(*volumes, exit_code=3)

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, spec)
            await rig.backend.bind(work)
            assert (await rig.finished(work.key)).exit_code == 3
            (made,) = [pod["spec"] for pod in pods_of(client, "mounts-directly")]
            assert made["nodeName"] == kubelet.name
            sources = {volume.pop("name"): volume for volume in made["volumes"]}
            seen = [
                (sources[mount["name"]], mount["mountPath"], mount.get("readOnly", False))
                for mount in made["containers"][0]["volumeMounts"]
            ]
            assert seen == [
                ({"persistentVolumeClaim": {"claimName": "bound", "readOnly": True}}, "/in", True),
                ({"persistentVolumeClaim": {"claimName": "soon"}}, "/out", False),
                ({"persistentVolumeClaim": {"claimName": "soon"}}, "/out-again", True),
                ({"persistentVolumeClaim": {"claimName": "by-hand"}}, "/more", False),
                ({"hostPath": {"path": "/srv/data sets/", "type": "Directory"}}, "/data", False),
            ]

    run_async(scene)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("later", f"claim 'later' is not bound, and its class '{LATER}' leaves that to a scheduler"),
        ("missing", "there is no PersistentVolumeClaim 'missing' in namespace"),
        ("Not_A.Name", "there is no PersistentVolumeClaim 'Not_A.Name' in namespace"),
        ("/etc", "wants the host's folder /etc, which is not below any of allow_paths"),
    ],
)
def test_what_would_wait_for_ever_on_its_node_is_refused_and_leaves_no_pod(
    tmp_path: Path, line: Line, kubelet: Kubelet, client: httpx.Client, source: str, words: str
) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet, owner="refuses")
    claim(client, "later", LATER)

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(2, mounting({"source": source, "target": "/in"}))
            with pytest.raises(Refusal, match=words):
                await rig.backend.bind(work)
            assert not pods_of(client, "refuses")

    run_async(scene)


def test_an_attempt_that_has_its_pod_is_not_refused_when_its_claim_has_gone(
    tmp_path: Path, line: Line, kubelet: Kubelet, client: httpx.Client
) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet, owner="bound-before")
    claim(client, "passing", AT_ONCE)

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(3, mounting({"source": "passing", "target": "/in"}, exit_code=4))
            await rig.backend.bind(work)
            remove(client, f"{CLAIMS}/passing")
            await rig.backend.bind(work)  # its answer was lost, say
            assert (await rig.finished(work.key)).exit_code == 4

    run_async(scene)


def test_a_scheduler_of_the_cluster_binds_claims_that_wait_for_it(
    tmp_path: Path, line: Line, kubelet: Kubelet, kube_server: KubeServer, client: httpx.Client
) -> None:
    subject = kubernetes_subject(tmp_path, line, kubelet, scheduler="sees-to-volumes")
    uid = claim(client, "later", LATER)["metadata"]["uid"]
    volume_there(client, "disk-2", kubelet.name)

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(4, mounting({"source": "later", "target": "/in"}, exit_code=5))
            await rig.backend.bind(work)
            await rig.reports.until_true(
                lambda: kept_for(client, "disk-2") == uid, "the scheduler's choice of a volume"
            )
            bind_as_chosen(client, "later", "disk-2")
            assert (await rig.finished(work.key)).exit_code == 5

    with kube_server.start_scheduler({"profiles": [{"schedulerName": "sees-to-volumes"}]}):
        run_async(scene)


def test_rights_that_are_missing_to_look_at_claims_are_named(tmp_path: Path) -> None:
    settings = {"nodes": "kubernetes.io/hostname=n1", "namespace": "default", "owner": "may-little"}

    async def scene(server: KubeServer, client: httpx.Client) -> None:
        settings["kubeconfig"] = str(server.kubeconfig_for("nobody"))
        backend = KubernetesBackend("kubernetes", KubernetesSettings.model_validate(settings), tmp_path)
        async with started(Subject(lambda: backend, workload=lambda *_: mounting(), unrunnable=[])) as rig:
            work = rig.assignment(5, mounting({"source": "later", "target": "/in"}))

            async def refused_for(words: str) -> None:
                async with asyncio.timeout(PATIENCE_S):  # rights come into force a moment after they are granted
                    while True:
                        with pytest.raises(Refusal) as refusal:
                            await rig.backend.bind(work)
                        if words in str(refusal.value):
                            return
                        await asyncio.sleep(0.1)

            await refused_for("grant the backend's account get of persistentvolumeclaims in namespace 'default'")
            grant(client, "claims", ("", "persistentvolumeclaims", ["get"]))
            await refused_for("there is no PersistentVolumeClaim 'later'")
            claim(client, "later", LATER, namespace="default")
            await refused_for("grant the backend's account get of storageclasses")
            grant(client, "classes", ("storage.k8s.io", "storageclasses", ["get"]))
            await refused_for("leaves that to a scheduler (WaitForFirstConsumer)")

    with run_kubernetes(authorization="RBAC") as server, server.client() as client:
        make_classes(client)
        about = {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}}
        client.post("/api/v1/nodes", json={"metadata": about}).raise_for_status()
        every = ["get", "list", "watch", "create", "patch", "delete"]
        grant(client, "without-volumes", ("", "pods", every), ("", "nodes", ["list", "watch"]))
        run_async(lambda: scene(server, client))


def grant(client: httpx.Client, name: str, *rights: tuple[str, str, list[str]]) -> None:
    """To nobody: verbs on resources of groups."""
    group = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [of], "resources": [resource], "verbs": verbs} for of, resource, verbs in rights]
    role = {"metadata": {"name": name}, "rules": rules}
    client.post(f"/apis/{group}/v1/clusterroles", json=role).raise_for_status()
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "nobody"}],
    }
    client.post(f"/apis/{group}/v1/clusterrolebindings", json=binding).raise_for_status()


def kept_for(client: httpx.Client, volume: str) -> str:
    """The claim, by its uid, that a volume is given to."""
    return str((client.get(f"{VOLUMES}/{volume}").json()["spec"].get("claimRef") or {}).get("uid"))


def bind_as_chosen(client: httpx.Client, claim: str, volume: str) -> None:
    """What a volume controller does when a scheduler has chosen."""
    about = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    body = {"metadata": about, "spec": {"volumeName": volume}}
    client.patch(f"{CLAIMS}/{claim}", json=body, headers=MERGE).raise_for_status()
    for path in (f"{CLAIMS}/{claim}", f"{VOLUMES}/{volume}"):
        bound = {"status": {"phase": "Bound"}}
        client.patch(f"{path}/status", json=bound, headers=MERGE).raise_for_status()


def volume_there(client: httpx.Client, name: str, node: str) -> None:
    """A volume that only this node has."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    spec = {
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": LATER,
        "local": {"path": "/srv/disk"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    client.post(VOLUMES, json={"metadata": {"name": name}, "spec": spec}).raise_for_status()
    available = {"status": {"phase": "Available"}}
    client.patch(f"{VOLUMES}/{name}/status", json=available, headers=MERGE).raise_for_status()
