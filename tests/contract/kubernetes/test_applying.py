"""Manifests are applied by the server, or only tried."""

import asyncio

import pytest
from tests.contract.kubernetes.applying import Applier, UnknownObjectKind
from tests.contract.kubernetes.gate import straight
from tests.servers.kubernetes.server import KubeServer

from dovetail.kubernetes_client.errors import ObjectInvalid, ObjectNotFound

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def test_a_dry_run_changes_nothing_and_says_what_it_would(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            applier = Applier(api, "test")
            role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [RULE]}
            manifest = {**role, "metadata": {"name": "applied"}}
            path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/applied"
            assert (await applier.apply(manifest, dry_run=True))["rules"] == [RULE]
            with pytest.raises(ObjectNotFound):
                await api.get(path)
            await applier.apply(manifest)
            await applier.apply(manifest)
            assert (await api.get(path))["rules"] == [RULE]
            bad = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "Not_A_Name"}}
            with pytest.raises(ObjectInvalid, match="Not_A_Name"):
                await applier.apply(bad, dry_run=True)
            with pytest.raises(UnknownObjectKind, match="Gadget"):
                await applier.apply({"apiVersion": "v1", "kind": "Gadget", "metadata": {"name": "x"}})

    asyncio.run(scene())
