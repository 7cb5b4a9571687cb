"""The manifests in deploy/: a server takes them as they are. The rights that they and the chart give are enough."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.kubernetes.applying import Applier
from tests.contract.kubernetes.cards import CLAIMS, claim, claiming, stage
from tests.contract.kubernetes.chart import rendered
from tests.contract.kubernetes.cluster import Cluster, pod
from tests.contract.kubernetes.gate import straight
from tests.patience import wait_for
from tests.servers.kubelet import kubelet
from tests.servers.kubernetes.server import KubeServer
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client
from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes_client.access import Access, read_kubeconfig
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import bearer
from dovetail.kubernetes_client.election import Election
from dovetail.kubernetes_client.errors import Forbidden, ObjectNotFound

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))


DOVETAIL = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dovetail"}}


def manifests(file: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


async def apply_rights(admin: Api, objects: list[dict[str, Any]], space: str) -> None:
    """The accounts and what they may do; what would run with them is left out."""
    applier = Applier(admin, "test")
    await applier.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
    for one in objects:
        if "Role" in one["kind"] or one["kind"] == "ServiceAccount":
            await applier.apply(one)


async def token_of(admin: Api, namespace: str, account: str) -> str:
    """A token of a service account, as `kubectl create token` gets one."""
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    return str((await admin.create(path, asked))["status"]["token"])


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_server_takes_every_manifest_as_it_is(kube_server: KubeServer, file: Path) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            applier = Applier(api, "test")
            # A namespace that is only tried out is not there for what belongs into it.
            spaces = [one for one in manifests(file) if one["kind"] == "Namespace"]
            for manifest in spaces or [DOVETAIL]:
                await applier.apply(manifest)
            for manifest in manifests(file):
                found = await applier.apply(manifest, dry_run=True)
                assert found["metadata"]["name"] == manifest["metadata"]["name"]

    asyncio.run(scene())


@pytest.mark.parametrize("source", ["manifest", "chart"])
def test_with_the_rights_of_the_manifest_it_schedules_and_can_do_nothing_else(
    kube_server: KubeServer, source: str
) -> None:
    space = "kube-system" if source == "manifest" else "charted-scheduler"
    granted = manifests(FOLDER / "scheduler.yaml") if source == "manifest" else rendered(space)

    async def play(cluster: Cluster) -> None:
        admin = cluster.api
        await apply_rights(admin, granted, space)
        known = read_kubeconfig([kube_server.kubeconfig])
        token = await token_of(admin, space, "dovetail-scheduler")
        await admin.create(CLAIMS, claim("c"))
        await cluster.pods(pod("a-1"), claiming("card-1", "c"), pod("big-1", cpu="8"))
        async with Api(Access(known.server, bearer(token), known.trust)) as api:
            found = PodScheduler(api)
            election = Election(api, space, "dovetail-scheduler", "test")
            running = asyncio.create_task(election.run(found.run))
            await cluster.until_bound("a-1", "card-1")

            async def told() -> bool:
                return "conditions" in (await cluster.one("big-1"))["status"]

            await cluster.until(told, "the pod that waits says why")
            for path in ("/api/v1/secrets", "/api/v1/configmaps"):
                with pytest.raises(Forbidden):
                    await api.items(path)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    stage(kube_server, play, n1=1)


def kubeconfig_of(server: KubeServer, token: str, folder: Path) -> Path:
    config = yaml.safe_load(server.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path = folder / "kubeconfig.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.parametrize("source", ["manifest", "chart"])
def test_with_the_rights_of_the_manifest_the_backend_runs_work_and_can_do_nothing_else(
    kube_server: KubeServer, tmp_path: Path, source: str
) -> None:
    space = "dovetail" if source == "manifest" else "charted-backend"
    granted = manifests(FOLDER / "backend-rbac.yaml") if source == "manifest" else rendered(space)

    async def new_token() -> str:
        async with straight(kube_server) as admin:
            await apply_rights(admin, granted, space)
            return await token_of(admin, space, "dovetail")

    async def try_other_rights(kubeconfig: Path) -> None:
        core = f"/api/v1/namespaces/{space}"
        async with Api(read_kubeconfig([kubeconfig])) as api:
            for path in ("/api/v1/secrets", f"{core}/secrets", f"{core}/configmaps"):
                with pytest.raises(Forbidden):
                    await api.items(path)
            for path in (f"{core}/persistentvolumeclaims/none", "/apis/storage.k8s.io/v1/storageclasses/none"):
                with pytest.raises(ObjectNotFound):  # it may look
                    await api.get(path)
            with pytest.raises(Forbidden):
                await api.create("/api/v1/namespaces/default/pods", pod("elsewhere"))

    kubeconfig = kubeconfig_of(kube_server, asyncio.run(new_token()), tmp_path)
    backend = {"kind": "kubernetes", "kubeconfig": str(kubeconfig), "namespace": space, "owner": "dovetail"}
    with kubelet(kube_server, "of-the-backend"), serving(settings_in(tmp_path, backends={"cluster": backend})) as url:
        with Client(url) as client:
            command = "[/bin/sh, -c, 'echo it runs']"
            client.submit_yaml(f"name: hello\nresources: {{cpu: 100m}}\nrun: {{image: any, command: {command}}}")
            wait_for(lambda: client.workload("hello")["state"] == "succeeded", "the job has run")
            assert client.logs("hello").text == "it runs\n"
            client.submit_yaml("name: long\nresources: {cpu: 100m}\nrun: {image: any, command: [sleep, '600']}")
            wait_for(lambda: client.workload("long")["state"] == "running", "the second job runs")
            client.cancel("long")
            wait_for(lambda: client.workload("long")["finished_at"], "the second job is stopped")
        asyncio.run(try_other_rights(kubeconfig))
