"""A real API server lets in whoever a credential plugin or a token file says."""

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.servers.kubernetes.server import KubeServer, token

from dovetail.kubernetes_client.access import in_cluster, read_kubeconfig
from dovetail.kubernetes_client.api import Api

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]


def who(api: Api) -> Any:
    async def ask() -> Any:
        async with api:
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            said = await api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
            return said["status"]["userInfo"]["username"]

    return asyncio.run(ask())


def test_a_credential_plugin_says_who_we_are(kube_server: KubeServer, tmp_path: Path) -> None:
    plugin = tmp_path / "plugin"
    plugin.write_text(f'#!/bin/sh\necho \'{{"status": {{"token": "{token("nobody")}"}}}}\'\n')
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    config = yaml.safe_load(kube_server.kubeconfig.read_text())
    config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin"}}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(config))
    assert who(Api(read_kubeconfig([path]))) == "nobody"


def test_a_pod_is_its_service_account(kube_server: KubeServer, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(kube_server.authority.read_bytes())
    (tmp_path / "token").write_text(token("admin"))
    env = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(kube_server.port)}
    assert who(Api(in_cluster(tmp_path, env))) == "admin"
