"""The manifests in deploy/: a server takes them as they are, and the rights they give are enough to schedule."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.kubernetes.applying import Applier
from tests.contract.kubernetes.cards import CLAIMS, claim, claiming, stage
from tests.contract.kubernetes.cluster import Cluster, pod
from tests.contract.kubernetes.gate import straight
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes.scheduler.scheduler import PodScheduler
from dovetail.kubernetes_client.access import Access, read_kubeconfig
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import bearer
from dovetail.kubernetes_client.election import Election
from dovetail.kubernetes_client.errors import Forbidden

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
ACCOUNT = "/api/v1/namespaces/kube-system/serviceaccounts/dovetail-scheduler/token"


def manifests(file: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(file.read_text()) if one]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_the_server_takes_every_manifest_as_it_is(kube_server: KubeServer, file: Path) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            applier = Applier(api, "test")
            for manifest in manifests(file):
                found = await applier.apply(manifest, dry_run=True)
                assert found["metadata"]["name"] == manifest["metadata"]["name"]

    asyncio.run(scene())


def test_with_the_rights_of_the_manifest_it_schedules_and_can_do_nothing_else(kube_server: KubeServer) -> None:
    async def play(cluster: Cluster) -> None:
        admin = cluster.api
        applier = Applier(admin, "test")
        for manifest in manifests(FOLDER / "scheduler.yaml"):
            if manifest["kind"] != "Deployment":
                await applier.apply(manifest)
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = (await admin.create(ACCOUNT, asked))["status"]["token"]
        known = read_kubeconfig([kube_server.kubeconfig])
        await admin.create(CLAIMS, claim("c"))
        await cluster.pods(pod("a-1"), claiming("card-1", "c"), pod("big-1", cpu="8"))
        async with Api(Access(known.server, bearer(token), known.trust)) as api:
            found = PodScheduler(api)
            election = Election(api, "kube-system", "dovetail-scheduler", "test")
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
