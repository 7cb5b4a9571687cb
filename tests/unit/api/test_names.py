"""What is shown can be typed: every way to write a workload or a task, through the routes that take one."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from tests.patience import wait_for
from tests.unit.api.server import problem_in

from dovetail.client import Client, DovetailError

SHORT = {"command": ["x"], "simulate": {"run_time": "1ms"}}
ROLES = [{"name": "chief", "replicas": 1}, {"name": "worker", "replicas": 3}]


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[Client]:
    """A server with workloads in several namespaces, two of the same name, and a group with roles."""
    with Client(url) as found:
        found.submit(
            [
                {"name": "alone", "namespace": "team", "replicas": 3},
                {"name": "both", "namespace": "team"},
                {"name": "both", "namespace": "other"},
                {"name": "here"},
                {"name": "here", "namespace": "team"},
                {"name": "dotted.1", "namespace": "team"},
                {"name": "train", "namespace": "ml", "roles": ROLES, "resources": {"cpu": "10m"}},
            ]
        )
        wait_for(lambda: found.workload("ml/train-worker")["state"] == "running")
        wait_for(lambda: found.workload("team/alone")["state"] == "running")
        yield found


def named(client: Client, text: str, namespace: str | None = None) -> tuple[list[str], int | None]:
    found = client.named(text, namespace)
    return [f"{row['namespace']}/{row['name']}" for row in found["workloads"]], found["replica"]


@pytest.mark.parametrize(
    ("text", "workloads", "replica"),
    [
        ("alone", ["team/alone"], None),
        ("team/alone", ["team/alone"], None),
        ("alone.2", ["team/alone"], 2),
        ("team/alone.2", ["team/alone"], 2),
        ("here", ["default/here"], None),
        ("team/here", ["team/here"], None),
        ("dotted.1", ["team/dotted.1"], None),
        ("dotted.1.0", ["team/dotted.1"], 0),
        ("train", ["ml/train-chief", "ml/train-worker"], None),
        ("ml/train", ["ml/train-chief", "ml/train-worker"], None),
        ("train-worker.1", ["ml/train-worker"], 1),
        ("train.worker", ["ml/train-worker"], None),
        ("ml/train.worker.2", ["ml/train-worker"], 2),
        ("train/worker", ["ml/train-worker"], None),
        ("worker", ["ml/train-worker"], None),
        ("worker.1", ["ml/train-worker"], 1),
        ("ml/chief", ["ml/train-chief"], None),
    ],
)
def test_a_name_is_found_as_it_is_shown(client: Client, text: str, workloads: list[str], replica: int | None) -> None:
    assert named(client, text) == (workloads, replica)
    typed = client.named(text)["typed"]
    assert named(client, typed) == (workloads, replica)


def test_a_namespace_beside_the_name_is_the_only_one_searched(client: Client) -> None:
    assert named(client, "both", "other") == (["other/both"], None)
    assert named(client, "team/both", "other") == (["team/both"], None)
    with pytest.raises(DovetailError, match=r"no workload 'alone' in namespace 'other'; there is team/alone"):
        client.named("alone", "other")


def test_an_id_and_the_key_of_an_attempt_name_a_task(client: Client) -> None:
    id_ = client.workload("alone")["id"]
    assert named(client, str(id_)) == (["team/alone"], None)
    assert named(client, f"{id_}.1") == (["team/alone"], 1)
    assert named(client, f"{id_}.1.1") == (["team/alone"], 1)
    with pytest.raises(DovetailError, match="no workload 999999"):
        client.named(999999)


def test_a_name_in_several_namespaces_lists_the_candidates_as_they_can_be_typed(client: Client) -> None:
    for text, written in (("both", "other/both, team/both"), ("both.0", "other/both.0, team/both.0")):
        with pytest.raises(DovetailError) as refused:
            client.workload(text)
        assert refused.value.status == 409
        assert refused.value.detail.endswith(f"is in several namespaces; write one of: {written}")
        for candidate in written.split(", "):
            assert client.workload(candidate)["name"] == "both"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("allone", "Did you mean 'team/alone'?"),
        ("team/allone", "Did you mean 'team/alone'?"),
        ("teem/alone", "there is team/alone"),
        ("heer", "Did you mean 'here'?"),
        ("node-1", "node-1 is a node: dovetail nodes node-1"),
        ("alone.3", "team/alone has no task 3; it has 3 tasks, 0 to 2"),
        ("here.1", "here has no task 1; it has one task, 0"),
        ("zzzzzz", "dovetail get lists those there are"),
        ("a/b/c", "no workload 'b/c' in namespace 'a'"),
        ("../x", "no workload 'x' in namespace '..'"),
    ],
)
def test_an_unknown_name_suggests_what_was_meant(client: Client, text: str, hint: str) -> None:
    with pytest.raises(DovetailError) as refused:
        client.workload(text)
    assert refused.value.status == 404
    assert hint in refused.value.detail


def test_routes_about_one_workload_name_the_members_of_a_group(client: Client, http: httpx.Client) -> None:
    for path in ("", "/explain", "/why-not/node-1", "/logs"):
        detail = problem_in(http.get(f"/workloads/train{path}"), 409)["detail"]
        assert detail == "'train' is a group of 2 workloads; name one of them: ml/train-chief, ml/train-worker"


def test_lists_of_a_group_are_about_all_its_workloads(client: Client) -> None:
    tasks = client.tasks("train")
    ids = [client.workload(f"ml/train-{role}")["id"] for role in ("chief", "worker")]
    assert [(task["workload"], task["replica"]) for task in tasks] == [
        (ids[0], 0),
        *((ids[1], replica) for replica in range(3)),
    ]
    assert client.tasks("train", limit=2, offset=1) == tasks[1:3]
    assert {line["workload"] for line in client.history("train")} == set(ids)
    assert {row["workload"] for row in client.decisions("train")} == set(ids)
    assert {line["workload"] for line in client.past_events(workload="ml/train")} == set(ids)


def test_what_is_about_one_task_leaves_the_others_out(client: Client) -> None:
    assert [task["replica"] for task in client.tasks("alone.2")] == [2]
    assert {row["replica"] for row in client.decisions("alone.2")} == {2}
    assert {line["replica"] for line in client.history("alone.2")} == {None, 2}
    assert {line["replica"] for line in client.past_events(workload="team/alone.2")} == {None, 2}
    first = next(client.events(after=0, workload="team/alone.2"))
    assert first["kind"] == "submitted"
    decision = client.explain("alone.2")["decision"]
    assert decision is not None
    assert decision["replica"] == 2
    assert client.why_not("team/alone.1", "node-1")["node"] == "node-1"


def test_the_output_is_that_of_the_task_that_is_named(client: Client) -> None:
    client.submit({"name": "talks", "namespace": "team", "replicas": 3, "run": SHORT})
    wait_for(lambda: client.workload("talks")["state"] == "succeeded")
    assert client.logs("talks.2") == client.logs("talks", replica=2)
    assert "".join(client.follow_logs("team/talks.1")) == client.logs("talks", replica=1).text
    assert client.logs("talks.2").text != client.logs("talks.1").text


def test_cancelling_takes_a_group_and_no_single_task(client: Client) -> None:
    made: dict[str, Any] = {"namespace": "ml", "roles": ROLES, "resources": {"cpu": "10m"}}
    client.submit([{"name": "unwanted", **made}, {"name": "pair", "namespace": "ml", "replicas": 2}])
    with pytest.raises(DovetailError, match="one task cannot be cancelled alone; cancel the whole workload: ml/pair"):
        client.cancel("pair.1")
    assert client.cancel("pair")["name"] == "pair"
    accepted = client.cancel("ml/unwanted")
    assert (accepted["namespace"], accepted["name"]) == ("ml", "unwanted")
    members = ("unwanted-chief", "unwanted-worker")
    wait_for(lambda: {client.workload(name)["state"] for name in members} == {"cancelled"})
    # An ended group keeps its name, until another takes it.
    assert named(client, "unwanted")[0] == ["ml/unwanted-chief", "ml/unwanted-worker"]
    with pytest.raises(DovetailError, match="already finished"):
        client.cancel("unwanted")
    client.submit({"name": "unwanted", **made, "roles": [{"name": "chief"}, {"name": "helper"}]})
    assert named(client, "unwanted")[0] == ["ml/unwanted-chief", "ml/unwanted-helper"]
    client.cancel("unwanted")


@pytest.mark.parametrize(
    ("method", "path", "body", "meant"),
    [
        ("GET", "/workloads/here/why-not/nod-1", None, "node-1"),
        ("GET", "/nodes/nod-1", None, "node-1"),
        ("POST", "/nodes/nodee-2/cordon", None, "node-2"),
        ("POST", "/failures", {"node": "nodde-3"}, "node-3"),
        ("POST", "/failures", {"level": "zone", "name": "eats"}, "east"),
        ("GET", "/distances?from=node-1&to=nod-2", None, "node-2"),
        ("GET", "/backends/sin", None, "sim"),
        ("POST", "/plan", {"name": "x", "profile": "balancd"}, "balanced"),
        ("POST", "/plan", {"name": "x", "queue": "defalt"}, "default"),
    ],
)
def test_an_unknown_name_of_another_kind_suggests_the_nearest(
    client: Client, http: httpx.Client, method: str, path: str, body: object, meant: str
) -> None:
    answer = http.request(method, path, json=body)
    assert answer.status_code in (404, 422)
    assert f"Did you mean {meant!r}?" in answer.json()["detail"]


def test_an_encoded_slash_stays_inside_its_segment(client: Client, http: httpx.Client) -> None:
    for written in ("team%2Falone", "team%2falone", quote("team/alone.1", safe="")):
        assert http.get(f"/workloads/{written}/tasks").status_code == 200
    problem_in(http.get("/nodes/team%2Fnode"), 404)


def test_names_are_listed_for_completion(client: Client) -> None:
    assert {"here", "team/here", "team/alone", "other/both"} <= set(client.names("workloads"))
    assert client.names("workloads", "team/al") == ["team/alone"]
    assert client.names("workloads", "alo") == ["alone"]
    assert client.names("workloads", "bot") == []
    assert client.names("nodes", "node-") == ["node-1", "node-2", "node-3", "node-4"]
    assert "default" in client.names("queues")
    assert "balanced" in client.names("profiles")
    assert client.names("backends") == ["registered", "sim"]
    assert {"default", "ml", "other", "team"} <= set(client.names("namespaces"))
    assert client.names("policies") == []
