"""Lists of services, policies, reservations, VMs and backends: all of them at once, or found, sorted and in pages."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from tests.patience import wait_for
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, problem_in, serving, settings_in

from dovetail.api.backends import BACKENDS
from dovetail.api.policies.policies import POLICIES
from dovetail.api.protocol.row_list import RowList
from dovetail.api.queues import RESERVATIONS
from dovetail.api.services import SERVICES
from dovetail.api.vms import VMS
from dovetail.cli.command_table import load
from dovetail.client import Client

LISTS: dict[str, RowList[Any]] = {
    "services": SERVICES,
    "policies": POLICIES,
    "reservations": RESERVATIONS,
    "vms": VMS,
    "backends": BACKENDS,
}
COMMAND = {"services": "services", "policies": "policy", "reservations": "reserve", "vms": "vm", "backends": "backend"}
_LAB = {"kind": "simulated", "forever": True}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    backends: dict[str, Any] = {
        "sim": _LAB | {"groups": [{"prefix": "node", "count": 4, "capacity": {"cpu": 8, "memory": "32GiB"}}]},
        "broken": {"kind": "kubernetes", "kubeconfig": "/nowhere"},  # it never starts
        "vms": _LAB
        | {
            "groups": [{"prefix": "host", "count": 1, "capacity": {"cpu": 4, "memory": "8GiB"}}],
            "vms_of_others": ["legacy-2", "legacy-10"],
        },
    }
    with serving(settings_in(tmp_path_factory.mktemp("lists"), backends=backends)) as url, Client(url) as found:
        service = {"resources": {"cpu": "10m"}, "update": {"drain": "0s"}, "backends": {"allow": ["sim"]}}
        found.apply(
            [
                service | {"name": "web", "replicas": 2},
                service | {"name": "api", "namespace": "shop", "replicas": 1},
                service | {"name": "huge", "replicas": 1, "resources": {"cpu": 1000}},
            ]
        )
        for name, require, namespace in (
            ("first", "node.capacity.cpu >= 1", "db-*"),
            ("second", "node.capacity.cpu >= 2", "web"),
        ):
            found.set_policy({"name": name, "require": require, "applies_to": {"namespaces": [namespace]}})
        found.set_policy({"name": "first", "require": "node.capacity.cpu >= 3", "applies_to": {"namespaces": ["db-*"]}})
        for node, tenant, start in (("node-1", "red", "+3h"), ("node-2", "blue", "now"), ("node-3", None, "+1h")):
            wanted = {"node": node, "resources": {"cpu": 1}, "start": start, "duration": "1h", "holder": "ada"}
            found.reserve_ahead(wanted | ({} if tenant is None else {"tenant": tenant}))
        vm = {"kind": "vm", "vm": {"image": "debian.qcow2"}, "resources": {"cpu": 1, "memory": "1GiB"}}
        found.submit({"name": "machine", **vm, "backends": {"allow": ["vms"]}})
        wait_for(lambda: len(found.vms()) == 3, "the VM is made")
        wait_for(lambda: found.service("web")["ready"] == 2 and found.service("api", namespace="shop")["ready"] == 1)
        yield found


@pytest.fixture(scope="module")
def http(client: Client) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{client.url}{API}", auth=OWN_TOKEN, timeout=60, trust_env=False) as found:
        yield found


def names(page: Mapping[str, Any], field: str = "name") -> list[Any]:
    return [row[field] for row in page["items"]]


def test_services_are_found_sorted_and_paged(client: Client) -> None:
    assert names({"items": client.services()}) == ["huge", "web", "api"]
    worst = client.service_page(sort="ready", limit=1)
    assert (names(worst), worst["total"], worst["counts"]) == (["huge"], 3, {"ready": 2, "short": 1})
    assert names(client.service_page(sort="-name")) == ["web", "api", "huge"], "shop/api is between them"
    assert names(client.service_page(search="SHOP/")) == ["api"]
    assert names(client.service_page(search="default")) == [], "nobody types the namespace default"
    assert names(client.service_page(namespace="default", sort="name", limit=1, offset=1)) == ["web"]


def test_policies_are_found_by_what_they_say_and_apply_to(client: Client) -> None:
    assert names(client.policy_page(search="CAPACITY.CPU >= 3")) == ["first"]
    assert names(client.policy_page(search="namespace web")) == ["second"]
    page = client.policy_page(sort="-version", limit=1)
    assert (names(page), page["total"], page["counts"]) == (["first"], 2, {"as written": 2})


def test_reservations_are_found_by_node_and_tenant(client: Client) -> None:
    assert names(client.reservation_page(sort="start"), "node") == ["node-2", "node-3", "node-1"]
    assert names(client.reservation_page(sort="tenant"), "tenant") == ["blue", "red", None]
    assert names(client.reservation_page(sort="-tenant"), "tenant") == ["red", "blue", None], "nobody is no name"
    assert names(client.reservation_page(search="node-3"), "node") == ["node-3"]
    assert client.reservation_page(search="ada", limit=1)["counts"] == {"active": 1, "planned": 2}


def test_vms_of_others_are_counted_apart(client: Client) -> None:
    page = client.vm_page(search="legacy", sort="-name", limit=1)
    assert (names(page), page["total"], page["counts"]) == (["legacy-10"], 2, {"others": 2})
    assert client.vm_page(search="machine")["counts"] == {"ours": 1}
    assert client.vm_page(search="host")["total"] == 3, "the node is searched too"


def test_the_worst_backends_come_first(client: Client) -> None:
    assert names({"items": client.backends()}) == names(client.backend_page())
    worst = client.backend_page(sort="state", limit=1)
    assert names(worst) == ["broken"]
    assert "simulated" in worst["kinds"]
    assert worst["total"] == sum(worst["counts"].values()) == 4
    assert names(client.backend_page(search="SIMUL", sort="-name")) == ["vms", "sim"]


@pytest.mark.parametrize("path", LISTS)
def test_every_column_sorts_and_without_parameters_a_list_is_complete(http: httpx.Client, path: str) -> None:
    whole = http.get(f"/{path}").json()
    assert whole["total"] == len(whole["items"]) >= 2
    assert sum(whole["counts"].values()) == whole["total"]
    for column in LISTS[path].sorts:
        for sort in (column, f"-{column}"):
            answer = http.get(f"/{path}", params={"sort": sort, "limit": 1000, "strange": 1})
            assert answer.status_code == 200, "what a list does not know it ignores, as before"
            assert len(answer.json()["items"]) == whole["total"]


@pytest.mark.parametrize("path", [*LISTS, "nodes", "workloads"])
def test_what_a_list_cannot_do_is_refused_with_what_it_can(http: httpx.Client, path: str) -> None:
    problem = problem_in(http.get(f"/{path}", params={"sort": "colour"}), 422)
    assert "query parameter: sort: 'colour' does not sort this list" in problem["detail"]
    assert "Known columns: " in problem["detail"]
    for column in LISTS[path].sorts if path in LISTS else ("name",):
        assert column in problem["detail"]
    for strange in ({"limit": 0}, {"limit": "many"}, {"offset": -1}, {"search": "x" * 201}, {"sort": ""}):
        [field] = strange
        assert field in problem_in(http.get(f"/{path}", params=strange), 422)["detail"]


@pytest.mark.parametrize("path", LISTS)
def test_the_command_offers_the_columns_that_the_server_knows(path: str) -> None:
    command = load(COMMAND[path])
    if isinstance(command, click.Group):
        listing = command.get_command(click.Context(command), "list")
        assert listing is not None
        command = listing
    [option] = [one for one in command.params if one.name == "sort"]
    assert isinstance(option, click.Option)
    assert (option.help or "").partition(";")[0].split(", ") == list(LISTS[path].sorts)


@pytest.mark.parametrize("path", LISTS)
def test_the_docs_name_the_columns_that_the_server_knows(path: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "overview.md").read_text()
    [line] = [line for line in page.splitlines() if line.startswith(f"| `GET /{path}` |")]
    assert re.findall(r"`(\w+)`", line.split("|")[3]) == list(LISTS[path].sorts)
