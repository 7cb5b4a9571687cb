"""A cluster that does not let us do what we need, or lets us in no longer.

Operators read what is missing and what to do, and work goes on as soon as it is there."""

import asyncio
import copy
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner
from tests.contract.kubernetes.gate import straight
from tests.contract.kubernetes.test_deploy import FOLDER, apply_rights, kubeconfig_of, manifests, token_of
from tests.e2e.test_cli import Shell
from tests.patience import wait_for
from tests.servers.kubelet import Kubelet, kubelet, namespace
from tests.servers.kubernetes.server import KubeServer
from tests.unit.api.server import serving, settings_in

from dovetail.backends.kubernetes.permissions import needed_rights as backend_rights
from dovetail.cli.main import app
from dovetail.kubernetes.scheduler.permissions import needed_rights, useful_rights
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.paths import CORE, one
from dovetail.kubernetes_client.rights import missing_rights

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

SPACE, ACCOUNT = "dovetail", "dovetail"
FILE = "deploy/kubernetes/backend-rbac.yaml"
T = TypeVar("T")


def as_admin(server: KubeServer, do: Callable[[Api], Coroutine[Any, Any, T]]) -> T:
    async def call() -> T:
        async with straight(server) as api:
            return await do(api)

    return asyncio.run(call())


def granted(*, without: str = "") -> list[dict[str, Any]]:
    """The manifest, with one verb for pods left out of the Role."""
    found = copy.deepcopy(manifests(FOLDER / "backend-rbac.yaml"))
    (role,) = (one for one in found if one["kind"] == "Role")
    pods = next(rule for rule in role["rules"] if rule["resources"] == ["pods"])
    pods["verbs"] = [verb for verb in pods["verbs"] if verb != without]
    return found


@pytest.fixture(scope="module")
def node(kube_server: KubeServer) -> Iterator[Kubelet]:
    with namespace(kube_server, SPACE), kubelet(kube_server, "of-lost-access") as found:
        yield found


def settings(folder: Path, kubeconfig: Path, node: Kubelet) -> Any:
    backend = {"kind": "kubernetes", "kubeconfig": str(kubeconfig), "namespace": SPACE}
    backend |= {"nodes": f"kubernetes.io/hostname={node.name}"}
    return settings_in(folder, backends={"cluster": backend}, subsystems={"backend_health": {"probe_every": 1}})


def shows(dovetail: Shell, words: str, *command: str) -> None:
    """As soon as it does, however it is broken into lines."""

    def said() -> bool:
        return words in " ".join(dovetail(*command).stdout.split())

    wait_for(said, f"dovetail {' '.join(command)} to say {words!r}", every_s=0.2)


def lost(kubeconfig: Path) -> bool:
    """Whether the account may do less than it needs."""

    async def ask() -> bool:
        async with Api(read_kubeconfig([kubeconfig])) as api:
            return bool(await missing_rights(api, backend_rights(SPACE)))

    return asyncio.run(ask())


def runs(dovetail: Shell, name: str) -> None:
    dovetail("submit", "--name", name, "--image", "any", "--", "true")
    shows(dovetail, "1 succeeded", "get", name)


def test_missing_rights_are_named_with_what_grants_them_and_used_once_they_are_there(
    kube_server: KubeServer, node: Kubelet, tmp_path: Path
) -> None:
    async def first_token(admin: Api) -> str:
        await apply_rights(admin, granted(without="create"), SPACE)
        return await token_of(admin, SPACE, ACCOUNT)

    kubeconfig = kubeconfig_of(kube_server, as_admin(kube_server, first_token), tmp_path)
    lacks = f"our credentials lack rights (403): create pods in namespace {SPACE}. Grant them: kubectl apply -f {FILE}"
    with serving(settings(tmp_path, kubeconfig, node)) as url:
        dovetail = Shell(url)
        shows(dovetail, lacks, "backend", "show", "cluster")
        shows(dovetail, f"backend cluster cannot be used: Forbidden: {lacks}", "events")
        as_admin(kube_server, lambda admin: apply_rights(admin, granted(), SPACE))
        runs(dovetail, "granted")

        as_admin(kube_server, lambda admin: apply_rights(admin, granted(without="create"), SPACE))
        wait_for(lambda: lost(kubeconfig), "the server to refuse it: rights change a moment later", every_s=0.1)
        dovetail("submit", "--name", "patient", "--image", "any", "--", "true")
        shows(dovetail, lacks, "backend", "list")
        shows(
            dovetail,
            f"has not started: its backend cluster cannot be used now: Forbidden: {lacks}",
            "explain",
            "patient",
        )
        as_admin(kube_server, lambda admin: apply_rights(admin, granted(), SPACE))
        shows(dovetail, "1 succeeded", "get", "patient")
        shows(dovetail, "backend cluster can be used again", "events")


@pytest.mark.parametrize("command", ["scheduler", "extender"])
def test_a_scheduler_without_rights_ends_and_names_all_that_it_lacks(kube_server: KubeServer, command: str) -> None:
    options = ["--no-elect"] if command == "scheduler" else ["--insecure-http", "--port", "0"]
    kubeconfig = str(kube_server.kubeconfig_for("nobody"))
    ended = CliRunner().invoke(app, ["kubernetes", command, *options, "--kubeconfig", kubeconfig])
    assert ended.exit_code == 1
    assert "our credentials lack rights on https://127.0.0.1:" in ended.stderr
    for right in ("list nodes in the cluster", "watch csinodes.storage.k8s.io", "create pods/binding in the cluster"):
        assert right in ended.stderr
    assert f"Grant them: kubectl apply -f deploy/kubernetes/{command}.yaml" in ended.stderr


def test_the_rights_that_the_programs_ask_for_are_those_of_the_manifests() -> None:
    needed = [*needed_rights(), *useful_rights()]
    for file in ("scheduler.yaml", "extender.yaml"):
        rules = [rule for one in manifests(FOLDER / file) if one["kind"] == "ClusterRole" for rule in one["rules"]]
        for right in needed:
            assert any(
                right.group in rule["apiGroups"] and right.resource in rule["resources"] and right.verb in rule["verbs"]
                for rule in rules
            ), f"{file} does not grant: {right}"


def test_a_token_that_is_revoked_is_shown_and_a_new_one_in_the_kubeconfig_is_used_at_once(
    kube_server: KubeServer, node: Kubelet, tmp_path: Path
) -> None:
    async def new_token(admin: Api) -> str:
        await apply_rights(admin, granted(), SPACE)
        return await token_of(admin, SPACE, ACCOUNT)

    account = one(CORE, "serviceaccounts", ACCOUNT, SPACE)
    kubeconfig = kubeconfig_of(kube_server, as_admin(kube_server, new_token), tmp_path)
    denied = "does not accept our credentials (401): they are wrong, revoked or expired. Renew those in"
    with serving(settings(tmp_path, kubeconfig, node)) as url:
        dovetail = Shell(url)
        runs(dovetail, "before")
        as_admin(kube_server, lambda admin: admin.delete(account))
        shows(dovetail, denied, "backend", "show", "cluster")
        shows(dovetail, "left alone", "backend", "list")
        shows(dovetail, f"backend cluster cannot be used: Unauthorized: the API server {denied}", "events")
        dovetail("submit", "--name", "patient", "--image", "any", "--", "true")
        kubeconfig_of(kube_server, as_admin(kube_server, new_token), tmp_path)
        shows(dovetail, "1 succeeded", "get", "patient")
        shows(dovetail, "backend cluster can be used again", "events")
