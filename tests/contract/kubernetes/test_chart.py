"""The Helm chart: valid, as the manifests are, and a server takes, changes and forgets it."""

import asyncio
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.kubernetes.applying import Applier
from tests.contract.kubernetes.chart import CHART, RELEASE, helm, kinds, named, rendered
from tests.contract.kubernetes.gate import straight
from tests.e2e.docs.page import command_beginning
from tests.servers.kubelet import namespace
from tests.servers.kubernetes.server import KubeServer

from dovetail import __version__
from dovetail.api.protocol.known_hosts import KnownHosts
from dovetail.control.settings import Settings
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.kubernetes_client.paths import CORE, collection

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("kubernetes")]

RBAC, APPS = "/apis/rbac.authorization.k8s.io/v1", "/apis/apps/v1"
OF_A_NAMESPACE = (
    (CORE, "serviceaccounts"), (CORE, "configmaps"), (CORE, "services"), (RBAC, "roles"), (RBAC, "rolebindings"),
    (APPS, "deployments"), (APPS, "statefulsets"),
)  # fmt: skip
ROOT = Path(__file__).parents[3]
MANIFESTS = ROOT / "deploy" / "kubernetes"


def manifest(file: str, kind: str) -> dict[str, Any]:
    (found,) = (one for one in yaml.safe_load_all((MANIFESTS / file).read_text()) if one["kind"] == kind)
    assert isinstance(found, dict)
    return found


def test_helm_finds_nothing_to_complain_about() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", CHART)


def test_its_version_is_that_of_the_package() -> None:
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize(
    ("file", "kind", "name"),
    [
        ("backend-rbac.yaml", "ClusterRole", "jobs-dovetail-backend"),
        ("backend-rbac.yaml", "Role", "dovetail-backend"),
        ("scheduler.yaml", "ClusterRole", "jobs-dovetail-scheduler"),
        ("scheduler.yaml", "Role", "dovetail-scheduler"),
    ],
)
def test_it_grants_the_rights_of_the_manifests_to_the_letter(file: str, kind: str, name: str) -> None:
    assert named(rendered("jobs"), kind, name)["rules"] == manifest(file, kind)["rules"]


def pod_of(objects: list[dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    pod: dict[str, Any] = named(objects, kind, name)["spec"]["template"]["spec"]
    return pod


@pytest.mark.parametrize(
    ("file", "kind", "name"),
    [("control-plane.yaml", "StatefulSet", "dovetail"), ("scheduler.yaml", "Deployment", "dovetail-scheduler")],
)
def test_its_pods_run_the_image_of_the_manifests_with_as_few_rights(file: str, kind: str, name: str) -> None:
    pod = pod_of(rendered("jobs"), kind, name)
    (ours,) = pod["containers"]
    (theirs,) = manifest(file, kind)["spec"]["template"]["spec"]["containers"]
    assert ours["image"] == theirs["image"]
    assert ours["securityContext"] == theirs["securityContext"]
    assert ours["livenessProbe"]["httpGet"]["path"] == theirs["livenessProbe"]["httpGet"]["path"]
    assert pod["enableServiceLinks"] is False


def test_the_settings_of_both_parts_are_valid_and_name_this_release() -> None:
    objects = rendered("jobs", "controlPlane.workNamespace=tasks", "controlPlane.settings.listen.names={me.example}")
    server = yaml.safe_load(named(objects, "ConfigMap", "dovetail-settings")["data"]["settings.yaml"])
    assert server["backends"] == {"cluster": {"kind": "kubernetes", "namespace": "tasks", "owner": "dovetail"}}
    known = KnownHosts(Settings.model_validate(server).listen)
    for host in (
        "dovetail:8080",
        "dovetail.jobs:8080",
        "dovetail.jobs.svc",
        "dovetail.jobs.svc.cluster.local",
        "me.example",
    ):
        assert known.unknown_name(host) is None
    assert named(objects, "Role", "dovetail-backend")["metadata"]["namespace"] == "tasks"
    placing = named(objects, "ConfigMap", "dovetail-scheduler-settings")["data"]["scheduler.yaml"]
    KubernetesSchedulerSettings.model_validate(yaml.safe_load(placing))
    (scheduler,) = pod_of(objects, "Deployment", "dovetail-scheduler")["containers"]
    assert "--lease=jobs/dovetail-scheduler" in scheduler["args"]


def test_each_part_can_be_left_out_and_monitoring_be_added() -> None:
    whole = kinds(rendered("jobs"))
    server = kinds(rendered("jobs", "scheduler.enabled=false"))
    scheduler = kinds(rendered("jobs", "controlPlane.enabled=false"))
    assert server | scheduler == whole
    assert not server & scheduler
    monitored = kinds(rendered("jobs", "serviceMonitor.enabled=true"))
    monitors = {("ServiceMonitor", "dovetail-control-plane"), ("ServiceMonitor", "dovetail-scheduler")}
    assert monitored - whole == monitors
    without_rights = kinds(rendered("jobs", "rbac.create=false"))
    assert not [kind for kind, _ in without_rights if "Role" in kind]


@pytest.mark.parametrize(
    ("value", "volumes"),
    [
        ("controlPlane.persistence.enabled=false", {"emptyDir": {}}),
        ("controlPlane.persistence.existingClaim=mine", {"persistentVolumeClaim": {"claimName": "mine"}}),
    ],
)
def test_its_data_are_on_a_claim_of_its_own_or_where_the_values_say(value: str, volumes: dict[str, Any]) -> None:
    own = named(rendered("jobs"), "StatefulSet", "dovetail")["spec"]["volumeClaimTemplates"]
    assert [one["metadata"]["name"] for one in own] == ["data"]
    changed = named(rendered("jobs", value), "StatefulSet", "dovetail")["spec"]
    assert "volumeClaimTemplates" not in changed
    assert {"name": "data", **volumes} in changed["template"]["spec"]["volumes"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("scheduler.replcas=3", "additional properties 'replcas' not allowed"),
        ("scheduler.replicas=0", "minimum: got 0, want 1"),
        ("controlPlane.settings.listen.port=1", "/controlPlane/settings/listen"),
        ("controlPlane.settings.data=/tmp", "/controlPlane/settings/data"),
        ("image.pullPolicy=Sometimes", "/image/pullPolicy"),
    ],
)
def test_a_wrong_value_is_refused_by_name(value: str, words: str) -> None:
    assert words in helm("template", RELEASE, CHART, "--set", value, fails=True)


def test_the_schema_knows_every_value_and_no_other() -> None:
    def paths(value: object, at: str = "") -> set[str]:
        below = value.items() if isinstance(value, dict) else ()
        return {at} | {path for key, one in below for path in paths(one, f"{at}/{key}")}

    def described(schema: dict[str, Any], at: str = "") -> set[str]:
        if schema.get("additionalProperties") is not False:
            return {at}  # whatever is below it
        return {at} | {path for key, one in schema["properties"].items() for path in described(one, f"{at}/{key}")}

    known = described(json.loads((CHART / "values.schema.json").read_text())) - {"/global"}
    values = paths(yaml.safe_load((CHART / "values.yaml").read_text()))
    assert known <= values
    assert {path for path in values if not any(path.startswith(f"{free}/") for free in known)} <= known


def test_a_server_takes_every_object_as_it_is(kube_server: KubeServer) -> None:
    async def scene() -> None:
        async with straight(kube_server) as api:
            applier = Applier(api, "test")
            for one in rendered("charted"):
                found = await applier.apply(one, dry_run=True)
                assert found["metadata"]["name"] == one["metadata"]["name"]

    with namespace(kube_server, "charted"):
        asyncio.run(scene())


def page_command(verb: str, space: str) -> list[str]:
    """A command of the page, for another namespace."""
    words = command_beginning(ROOT / "docs" / "installing.md", f"helm {verb}")
    return shlex.split(words.replace("--namespace dovetail", f"--namespace {space}"))[1:]


def test_the_commands_of_the_page_install_upgrade_and_remove_it_without_a_trace(kube_server: KubeServer) -> None:
    space = "released"
    with namespace(kube_server, space):
        told = helm(*page_command("install", space), server=kube_server)
        assert f"kubectl -n {space} port-forward service/dovetail 8080:8080" in told
        assert "spec.schedulerName: dovetail." in told
        assert asyncio.run(left_over(kube_server, space))
        helm(*page_command("upgrade", space), "--set", "scheduler.replicas=3", server=kube_server)
        assert asyncio.run(deployed(kube_server, space)) == [(3, "registry.example/dovetail:0.2.0")]
        helm(*page_command("uninstall", space), server=kube_server)
        assert not asyncio.run(left_over(kube_server, space))


async def left_over(server: KubeServer, space: str) -> list[str]:
    """Names of objects that carry the label of the release, of every kind that the chart makes."""
    label = {"labelSelector": f"app.kubernetes.io/instance={RELEASE}"}
    found = []
    async with straight(server) as api:
        for group, plural in OF_A_NAMESPACE:
            found += [one["metadata"]["name"] for one in await api.items(collection(group, plural, space), label)]
        for plural in ("clusterroles", "clusterrolebindings"):
            named = [one["metadata"]["name"] for one in await api.items(collection(RBAC, plural), label)]
            found += [name for name in named if name.startswith(f"{space}-")]
    return found


async def deployed(server: KubeServer, space: str) -> list[tuple[int, str]]:
    """(replicas, image) of the Deployments in a namespace."""
    async with straight(server) as api:
        found = [one["spec"] for one in await api.items(collection(APPS, "deployments", space))]
    return [(one["replicas"], one["template"]["spec"]["containers"][0]["image"]) for one in found]


def test_every_command_of_its_notes_names_an_object_that_it_makes() -> None:
    objects = kinds(rendered("jobs"))
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    (service,) = re.findall(r'service/\{\{ include "dovetail.fullname" . \}\}(\S*)', notes)
    assert ("Service", f"dovetail{service}") in objects
    assert "pip install dovetail-scheduler" in notes
