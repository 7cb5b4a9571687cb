"""`-o json` prints what the API answers: the response models, no field more, no field less.

And a client that is older than the server still works: fields that it does not know change nothing.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.servers.redfish import redfish_server
from tests.unit.api.route_walk.walk import Description, closed
from tests.unit.api.server import serving, settings_in

from dovetail.cli.command_table import COMMANDS, load
from dovetail.cli.main import app
from dovetail.client import Client
from dovetail.client.transport.exchange import ServerAnswer
from dovetail.client.transport.transport import Transport
from dovetail.responses.attention import AttentionAnswer
from dovetail.responses.backends import AddedBackend, BackendDetail, BackendRow
from dovetail.responses.cloud import CloudInstanceList, CloudOfferRow, ReapedInstances
from dovetail.responses.combined import (
    AppliedDefinitions,
    ClusterOverview,
    FinishedWorkloads,
    NodeWithTasks,
    TopologyWithDomains,
    Versions,
    WorkloadDescription,
)
from dovetail.responses.cost import BudgetRow, CostForecast, CostPage
from dovetail.responses.discovery import ServiceEndpoints
from dovetail.responses.login import SessionRow
from dovetail.responses.metal import MetalBootDevice, MetalDetail, MetalRow, MetalSavings, MetalSensor
from dovetail.responses.network import (
    DiscoveredTopology,
    DistanceBetween,
    MeasuredPairList,
    NodeDistance,
    TopologyAnswer,
)
from dovetail.responses.nodes import NodeRow
from dovetail.responses.policies import (
    ChangedAffinity,
    ChangedPolicy,
    CheckedConstraint,
    PolicyDetail,
    PolicyVersion,
    ServiceAffinityRow,
    ViolationRow,
)
from dovetail.responses.questions import CapacityAnswer, ExplainAnswer, FragmentationReport, Plans, WhyNotAnswer
from dovetail.responses.queues import QueueItem, QueuesAnswer, ReservationRow
from dovetail.responses.rebalancing import Rebalancing
from dovetail.responses.recent_decisions import RecentDecision
from dovetail.responses.services import RevisionRow, ServiceDetail, ServiceRow
from dovetail.responses.snapshots import ProfilePreview, WhatIfAnswer
from dovetail.responses.system import HistoryPage, HistoryRow, Profiles, WrittenNote
from dovetail.responses.tokens import AdminTokenMade, JoinTokenMade, JoinTokenRow, NodeTokenMade
from dovetail.responses.traffic import TrafficRow
from dovetail.responses.trends import TrendAnswer
from dovetail.responses.vms import VmChanged, VmMigration, VmRow, VmSnapshotRow
from dovetail.responses.workloads import AcceptedWorkloads, UsagePage, WorkloadDetail, WorkloadPage

#: Each command that has `-o`, as it is called on the server below, and what it prints.
PRINTED: dict[str, Any] = {
    "submit --cpu 1 -- true": AcceptedWorkloads,
    "submit --cpu 1 --dry-run -- true": Plans,
    "submit -f {files}/short.yaml --wait": FinishedWorkloads,
    "get": WorkloadPage,
    "get job": WorkloadDetail,
    "get nodes": list[NodeRow],
    "get queue": list[QueueItem],
    "get queues": QueuesAnswer,
    "get reservations": list[ReservationRow],
    "get policies": list[PolicyDetail],
    "get profiles": Profiles,
    "describe job": WorkloadDescription,
    "events": HistoryPage,
    "events job --kind running": HistoryPage,
    "history": UsagePage,
    "queue": list[QueueItem],
    "queues": QueuesAnswer,
    "top": ClusterOverview,
    "plan -f {files}/short.yaml": Plans,
    "explain stuck": ExplainAnswer,
    "why-not stuck node-1": WhyNotAnswer,
    "capacity --cpu 1": CapacityAnswer,
    "fragmentation": FragmentationReport,
    "attention": AttentionAnswer,
    "trends --since 10m": TrendAnswer,
    "trends --node node-1": TrendAnswer,
    "decisions": list[RecentDecision],
    "cost list": CostPage,
    "cost --by node": CostPage,
    "cost forecast": CostForecast,
    "budget list": list[BudgetRow],
    "budget set team 500 USD": BudgetRow,
    "policy list": list[PolicyDetail],
    "policy show east": PolicyDetail,
    "policy show east --version 1": PolicyVersion,
    "policy set {files}/policy.yaml": ChangedPolicy,
    "policy attach west --workload stuck": ChangedPolicy,
    "policy detach west --workload job": ChangedPolicy,
    "policy history east": list[PolicyVersion],
    "policy violations east": list[ViolationRow],
    "constraint check true": CheckedConstraint,
    "affinity list": list[ServiceAffinityRow],
    "affinity set cart node-1": ChangedAffinity,
    "affinity avoid cart node-2": ChangedAffinity,
    "nodes list": list[NodeRow],
    "nodes show node-1": NodeWithTasks,
    "rebalance": Rebalancing,
    "what-if --remove-node node-1": WhatIfAnswer,
    "profiles list": Profiles,
    "profiles preview best_fit": ProfilePreview,
    "topology list": TopologyWithDomains,
    "topology set {files}/network.yaml": TopologyAnswer,
    "topology show": dict[str, Any],
    "traffic": list[TrafficRow],
    "distance list": list[NodeDistance],
    "distance get node-1 node-2": DistanceBetween,
    "distance measured": MeasuredPairList,
    "distance trends node-1 node-2": TrendAnswer,
    "topology discover": DiscoveredTopology,
    "vm list": list[VmRow],
    "vm stop machine": VmChanged,
    "vm start machine": VmChanged,
    "vm reboot machine --reset": VmChanged,
    "vm snapshot machine": list[VmSnapshotRow],
    "vm snapshot machine before": VmChanged,
    "vm migrate machine hypervisor-2": VmMigration,
    "backend list": list[BackendRow],
    "backend show sim": BackendDetail,
    "backend add lab -f {files}/lab.json --replace": AddedBackend,
    "backend history lab": list[HistoryRow],
    "cloud prices": list[CloudOfferRow],
    "cloud instances": CloudInstanceList,
    "cloud reap --dry-run": ReapedInstances,
    "metal list": list[MetalRow],
    "metal show rack1-u1": MetalDetail,
    "metal on rack1-u1": MetalRow,
    "metal cycle rack1-u1": MetalRow,
    "metal reset rack1-u1": MetalRow,
    "metal off rack1-u1": MetalRow,
    "metal boot-device rack1-u1 disk": MetalBootDevice,
    "metal sensors rack1-u1": list[MetalSensor],
    "metal savings": MetalSavings,
    "token list": list[JoinTokenRow],
    "note something happened": WrittenNote,
    "token sessions": list[SessionRow],
    "token join": JoinTokenMade,
    "token node own": NodeTokenMade,
    "token rotate": AdminTokenMade,
    "reserve list": list[ReservationRow],
    "reserve show 1": ReservationRow,
    "reserve create --node node-4 --cpu 1 --for 1h": ReservationRow,
    "reserve add node-4 --cpu 1 --for 1h": ReservationRow,
    "submit -f {files}/alone.yaml": AppliedDefinitions,
    "apply -f {files}/service.yaml": AppliedDefinitions,
    "apply -f {files}/service.yaml --dry-run": AppliedDefinitions,
    "services": list[ServiceRow],
    "services web": ServiceDetail,
    "describe web": ServiceDetail,
    "scale web 2": ServiceRow,
    "rollout restart web": ServiceRow,
    "rollout undo web --to 1": ServiceRow,
    "rollout status web --now": ServiceDetail,
    "rollout history web": list[RevisionRow],
    "endpoints found": ServiceEndpoints,
    "version": Versions,
}
LAB = {"kind": "simulated", "groups": [{"prefix": "lab", "count": 1, "capacity": {"cpu": 1}}]}
EXITS = {
    "policy violations east": (1,),
    "policy detach west --workload job": (0, 5),
    "rollout undo web --to 1": (0, 5),
    "vm migrate machine hypervisor-2": (0, 5),
}  # some; and once only
NEEDS_THE_VM_ON = {"vm reboot machine --reset", "vm migrate machine hypervisor-2"}
#: They have `-o` too, but what they print does not come from a server; that of `snapshot` names a file.
LOCAL = {"config show", "simulate scenario", "simulate snapshot", "simulate swf", "snapshot", "sweep", "replay"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "short.yaml").write_text("name: short\nrun: {command: [x], simulate: {run_time: 10ms}}\n")
    (folder / "policy.yaml").write_text("name: written\nrequire: 'true'\n")
    (folder / "network.yaml").write_text("levels: [{name: leaf}]\ndomains: {leaf: {l1: [node-1, node-2]}}\n")
    (folder / "service.yaml").write_text(
        "{name: kept, kind: service, replicas: 0}\n---\n{name: stuck, resources: {cpu: 99}}\n"
    )
    (folder / "alone.yaml").write_text("{name: alone, kind: service, replicas: 0}\n")
    (folder / "lab.json").write_text(json.dumps(LAB))
    return folder


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with something of everything."""
    with (
        redfish_server("rack1-u1") as redfish,
        serving(settings_in(tmp_path_factory.mktemp("data"))) as found,
        Client(found) as client,
    ):
        client.submit([{"name": "job", "service": "web"}, {"name": "stuck", "resources": {"cpu": 99}}])
        client.set_policy({"name": "east", "require": 'node.labels["zone"] == "west"'})
        client.attach_policy("east", workloads=["job"])
        client.set_policy({"name": "west", "prefer": "true", "applies_to": {"workloads": ["job"]}})
        client.set_service_affinity("web", ["node-1"])
        client.set_distances([("node-1", "node-2", 25.0)])
        client.reserve("node-3", {"cpu": 1}, "1h")
        client.add_backend("lab", LAB)
        client.add_backend("rack1", redfish.backend())
        _run_vm(client)
        client.apply({"name": "web", "ports": [{"name": "http"}], "resources": {"cpu": "10m"}})
        client.restart_service("web")
        wait_for(lambda: client.service("web")["ready"])
        client.apply({"kind": "service", "name": "found"})
        client.set_budget("research", 500)
        for_nobody = [{"key": "nobody", "effect": "NoSchedule"}]
        client.register_node({"name": "own", "taints": for_nobody, "offer": {"price_per_hour": 3600}})
        wait_for(lambda: client.workload("stuck")["reason"])
        wait_for(lambda: client.workload("job")["state"] == "running")
        yield found


def _run_vm(client: Client) -> None:
    two = [{"prefix": "hypervisor", "count": 2, "capacity": {"cpu": 2, "memory": "4GiB"}}]
    client.add_backend("vms", {"kind": "simulated", "groups": two, "migrates": True, "forever": True})
    wait_for(lambda: sum(row["backend"] == "vms" for row in client.nodes()) == 2)
    client.cordon("hypervisor-2")
    machine = {"kind": "vm", "vm": {"image": "debian.qcow2"}, "resources": {"cpu": 1, "memory": "1GiB"}}
    client.submit({"name": "machine", "backends": {"allow": ["vms"]}, **machine})
    wait_for(lambda: client.workload("machine")["state"] == "running")
    client.uncordon("hypervisor-2")


def run(command: str, files: Path, url: str, *options: str) -> str:
    """What a command prints, without the log of the server, which runs in this process."""
    if command in NEEDS_THE_VM_ON:  # another command of this table may have switched it off
        with Client(url) as client:
            client.set_vm_power("machine", "on")
    words = [word.format(files=files) for word in command.split()]
    place = words.index("--") if "--" in words else len(words)
    result = CliRunner().invoke(app, [*words[:place], *options, "--url", url, *words[place:]])
    assert result.exit_code in EXITS.get(command, (0,)), result.output
    return re.sub(r"^\d{4}-\d\d-\d\d .*\[.*\n", "", result.stdout, flags=re.MULTILINE)


def printed(command: str, files: Path, url: str) -> Any:
    return json.loads(run(command, files, url, "-o", "json"))


@pytest.mark.parametrize("command", PRINTED)
def test_a_command_prints_exactly_the_response_model(command: str, files: Path, url: str) -> None:
    validator = Draft202012Validator(closed(TypeAdapter(PRINTED[command]).json_schema()))
    found = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(printed(command, files, url))]
    assert not found


def test_every_command_with_json_output_is_looked_at() -> None:
    known = {" ".join(words.split()[:2]) for words in PRINTED} | {words.split()[0] for words in PRINTED}
    assert set(_with_output()) - known == LOCAL


def _with_output() -> Iterator[str]:
    """Every command and sub-command that has `-o`."""
    for name in COMMANDS:
        command = load(name)
        for action, one in _actions(command).items():
            if any("--output" in parameter.opts for parameter in one.params):
                yield f"{name} {action}".strip()


def _actions(command: click.Command) -> dict[str, click.Command]:
    if not isinstance(command, click.Group):
        return {"": command}
    context = click.Context(command)
    return {name: one for name in command.list_commands(context) if (one := command.get_command(context, name))}


def added_to(schema: dict[str, Any], body: Any, components: dict[str, Any]) -> Any:
    """The body as a newer server might answer it: one field more in every object that the schema describes."""
    if "$ref" in schema:
        return added_to(components[schema["$ref"].rpartition("/")[2]], body, components)
    for one in schema.get("anyOf", ()):
        if Draft202012Validator(one | {"components": {"schemas": components}}).is_valid(body):
            return added_to(one, body, components)
    if isinstance(body, list):
        return [added_to(schema.get("items", {}), one, components) for one in body]
    if isinstance(body, dict) and "properties" in schema:
        known = {name: added_to(schema["properties"].get(name, {}), one, components) for name, one in body.items()}
        return known | {"added_later": {"by": "a newer server"}}
    if isinstance(body, dict) and isinstance(values := schema.get("additionalProperties"), dict):
        return {name: added_to(values, one, components) for name, one in body.items()}
    return body


@pytest.fixture
def newer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document = httpx.get(f"{url}/openapi.json", auth=OWN_TOKEN, trust_env=False, verify=False, timeout=60).json()
    description, components = Description(document), document["components"]["schemas"]
    real = Transport.ask

    def ask(self: Transport, method: str, path: str, **how: Any) -> ServerAnswer:
        answer = real(self, method, path, **how)
        if answer.headers.get("content-type") == "application/json":
            responses = description.operations[description.operation_of(httpx.Request(method, f"{url}{path}"))]
            schema = responses["responses"][str(answer.status)]["content"]["application/json"]["schema"]
            answer._whole = json.dumps(added_to(schema, json.loads(answer.content), components)).encode()
        return answer

    monkeypatch.setattr(Transport, "ask", ask)


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("command", PRINTED)
def test_a_command_tolerates_fields_that_a_newer_server_adds(command: str, files: Path, url: str) -> None:
    assert "newer server" not in run(command, files, url)


@pytest.mark.usefixtures("newer")
def test_what_a_newer_server_adds_is_in_the_json(files: Path, url: str) -> None:
    assert all("added_later" in row for row in printed("nodes list", files, url))
