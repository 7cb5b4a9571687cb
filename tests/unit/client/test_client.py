"""The client against a real server: every answer is what its type says, and errors are sentences."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_type_hints

import httpx
import pytest
from pydantic import TypeAdapter
from tests.patience import wait_for
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client, ConnectError, DovetailError
from dovetail.client.amounts import shown
from dovetail.client.following.task_output import OutputChunk
from dovetail.client.transport.credentials import credentials_for
from dovetail.model.node import Node
from dovetail.model.resources import ResourceRequest
from dovetail.model.workloads.workload import Workload
from dovetail.responses.nodes import (
    NodeDetail,
    NodeOrders,
    NodeResource,
    NodeRow,
    NodeTask,
    RegisteredNode,
    ResourceUse,
    RunOrder,
)
from dovetail.responses.questions import (
    CapacityAnswer,
    DecisionExplanation,
    DecisionRow,
    ExplainAnswer,
    NodeFit,
    NodeRefusal,
    PlanAnswer,
    PlannedTaskRow,
    ResourceShortage,
    WhyNotAnswer,
)
from dovetail.responses.queues import QueueItem, QueueRow, QueuesAnswer, ReservationRow
from dovetail.responses.system import ClusterSummary, HistoryRow, ProfileRow, Profiles, ServerHealth
from dovetail.responses.workloads import (
    AcceptedWorkload,
    TaskRow,
    WorkloadDetail,
    WorkloadPage,
    WorkloadRow,
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as found:
        yield found


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as found:
        yield found


def is_a(kind: Any, value: Any) -> Any:
    """The value, after checking that it has the type, no more and no less at its top."""
    TypeAdapter(kind).validate_python(value, strict=True)
    if isinstance(value, dict):
        assert set(value) <= set(get_type_hints(kind))
    for item in value if isinstance(value, list) else ():
        is_a(kind.__args__[0], item)
    return value


def running(client: Client, name: str, **spec: Any) -> None:
    client.submit({"name": name, **spec})
    wait_for(lambda: client.workload(name)["state"] == "running")


def test_answers_about_work_have_their_types(client: Client) -> None:
    work = Workload(name="typed", replicas=2, resources=ResourceRequest.model_validate({"cpu": "500m"}))
    accepted = is_a(list[AcceptedWorkload], client.submit([work]))
    wait_for(lambda: client.workload("typed")["state"] == "running")
    assert is_a(WorkloadDetail, client.workload(accepted[0]["id"]))["spec"]["resources"] == {"cpu": "500m"}
    page = is_a(WorkloadPage, client.workloads(namespace="default", limit=1, unfinished=True))
    is_a(list[WorkloadRow], page["items"])
    assert [task["replica"] for task in is_a(list[TaskRow], client.tasks("typed"))] == [0, 1]
    is_a(DecisionExplanation, is_a(list[DecisionRow], client.decisions("typed"))[0]["explanation"])
    is_a(list[HistoryRow], client.history("typed"))
    is_a(list[HistoryRow], client.past_events(workload="typed"))
    explained = is_a(ExplainAnswer, client.explain("typed"))
    is_a(WorkloadRow, explained["workload"])
    is_a(WhyNotAnswer, client.why_not("typed", "node-1"))
    assert is_a(AcceptedWorkload, client.cancel("typed", reason="enough")) == accepted[0]
    wait_for(lambda: client.workload("typed")["state"] == "cancelled")


def test_questions_have_their_types(client: Client) -> None:
    plans = is_a(list[PlanAnswer], client.plan([{"name": "a"}, {"name": "b", "resources": {"cpu": 99}}]))
    assert [plan["placed"] for plan in plans] == [1, 0]
    is_a(list[PlannedTaskRow], plans[0]["tasks"])
    assert is_a(list[PlanAnswer], client.dry_run({"name": "a"}))[0]["placed"] == 1
    is_a(list[NodeFit], is_a(CapacityAnswer, client.capacity({"resources": {"cpu": 1}}))["by_node"])
    client.submit({"name": "wishful", "resources": {"cpu": 99}})
    waiting = wait_for(client.queue)
    assert is_a(list[QueueItem], waiting)[0]["name"] == "wishful"
    wait_for(lambda: client.workload("wishful")["reason"])
    explained = client.explain("wishful")
    is_a(list[ResourceShortage], is_a(DecisionExplanation, explained["now"])["shortages"])
    is_a(list[NodeRefusal], client.why_not("wishful", "node-1")["refused"])
    client.cancel("wishful")


def test_answers_about_nodes_have_their_types(client: Client) -> None:
    made = is_a(RegisteredNode, client.register_node(Node.model_validate({"name": "mine", "capacity": {"cpu": 4}})))
    assert made["definition"]["capacity"]["cpu"] == "4"
    rows = is_a(list[NodeRow], client.nodes())
    is_a(NodeResource, rows[0]["resources"]["cpu"])
    is_a(NodeDetail, client.patch_node("mine", labels={"only": "here"}, taints=[]))
    client.submit({"name": "for-mine", "node_selector": {"only": "here"}})
    [order] = is_a(list[RunOrder], wait_for(lambda: client.heartbeat("mine", used={"cpu": 1})["run"]))
    is_a(NodeOrders, client.heartbeat("mine", tasks=[{"key": order["key"], "state": "running"}]))
    assert is_a(list[NodeTask], wait_for(lambda: client.node_tasks("mine")))[0]["name"] == "for-mine"
    assert client.cordon("mine", reason="why not")["status"] == "cordoned"
    assert client.uncordon("mine")["status"] == "online"
    assert client.drain("mine", reason="bye")["status"] == "draining"
    assert client.diagnostics("mine").startswith("Node: mine\n")
    client.cancel("for-mine")
    client.remove_node("mine")
    with pytest.raises(DovetailError) as caught:
        client.node("mine")
    assert (caught.value.status, caught.value.slug) == (404, "not-found")


def test_answers_about_the_whole_have_their_types(client: Client) -> None:
    tree = is_a(QueuesAnswer, client.queues())
    assert [row["path"] for row in is_a(list[QueueRow], tree["queues"])] == ["default"]
    is_a(list[ProfileRow], is_a(Profiles, client.profiles())["profiles"])
    held = is_a(ReservationRow, client.reserve("node-2", {"cpu": 1}, "1h", holder="ada"))
    assert is_a(list[ReservationRow], client.reservations()) == [held]
    client.release(held["id"])
    is_a(ResourceUse, is_a(ClusterSummary, client.summary())["resources"]["cpu"])
    is_a(ServerHealth, client.health())
    is_a(ServerHealth, client.ready())
    assert "dovetail_" in client.metrics()


def test_events_and_output_are_followed(client: Client, url: str) -> None:
    running(client, "followed", run={"command": ["x"], "simulate": {"run_time": "500ms"}})
    whole = "".join(client.follow_logs("followed"))
    assert whole
    wait_for(lambda: client.workload("followed")["state"] == "succeeded")
    assert client.logs("followed") == OutputChunk(whole, len(whole.encode()), True)
    kinds = []
    for event in client.events(after=0, workload="followed"):
        kinds.append(is_a(HistoryRow, event)["kind"])
        if len(kinds) == 2:
            break
    assert kinds[0] == "submitted"


def test_a_refusal_carries_every_complaint(client: Client) -> None:
    with pytest.raises(DovetailError) as caught:
        client.submit([{"name": "a", "replicas": -1}, {"nmae": "b"}])
    assert caught.value.status == 422
    assert {complaint.field for complaint in caught.value.complaints} >= {"[0].replicas", "[1].nmae"}
    assert "replicas" in str(caught.value)


def test_yaml_is_submitted_as_it_is_written(client: Client) -> None:
    assert [found["name"] for found in client.submit_yaml("name: from-a-file\n")] == ["from-a-file"]
    with pytest.raises(DovetailError) as caught:
        client.submit_yaml("name: from-a-file\nresources:\n  cpu: much\n")
    assert caught.value.complaints[0].line == 3


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_change_the_address_is_not_sent(client: Client, name: str) -> None:
    with pytest.raises(ValueError, match="not the name"):
        client.node(name)


def test_names_are_quoted_on_the_way(client: Client) -> None:
    for name in ("a/b", "a?b=c", "a#b", "ä b"):
        with pytest.raises(DovetailError) as caught:
            client.workload(name)
        assert caught.value.status == 404


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port


def test_without_a_server_the_error_says_what_to_do() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with Client(url) as client, pytest.raises(ConnectError, match="dovetail serve") as caught:
        client.reserve("a", {"cpu": 1}, "1h")
    assert url in str(caught.value)


@pytest.mark.parametrize("url", ["nonsense", "ftp://host", "http://", "http://host:port", "http://host:99999"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="write it like"):
        Client(url)


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOVETAIL_URL", "http://somewhere:81/")
    with Client() as client:
        assert client.url == "http://somewhere:81"
    monkeypatch.delenv("DOVETAIL_URL")
    with Client() as client:
        assert client.url == "http://127.0.0.1:8080"


@contextmanager
def losing_the_first_answer(url: str) -> Iterator[str]:
    """A way to the server on which the first request arrives but its answer does not."""
    server = httpx.URL(url)
    listening = socket.create_server(("127.0.0.1", 0))

    def carry(connection: socket.socket, *, lose: bool) -> None:
        with connection, socket.create_connection((server.host, server.port or 80)) as onward:
            request = b""
            while b'"name"' not in request:  # the body comes after the headers
                request += connection.recv(65536)
            onward.sendall(request)
            answer = b""
            while not answer.endswith(b"]}"):
                answer += onward.recv(65536)
            if not lose:
                connection.sendall(answer)

    def work() -> None:
        for number in range(2):
            connection, _ = listening.accept()
            carry(connection, lose=number == 0)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        thread.join(timeout=10)
        listening.close()


def test_a_submission_whose_answer_was_lost_is_not_made_twice(client: Client, url: str) -> None:
    token = credentials_for(url).token
    with losing_the_first_answer(url) as lossy, Client(lossy, token) as unlucky:
        [accepted] = unlucky.submit({"name": "sent-twice"})
    rows = client.workloads(name="sent-twice")["items"]
    assert [row["id"] for row in rows] == [accepted["id"]]


def test_something_else_at_the_address_is_recognised(tmp_path: Path) -> None:
    listening = socket.create_server(("127.0.0.1", 0))

    def work() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            body = b"<html>hello</html>"
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body)
            )

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with Client(url) as client, pytest.raises(ConnectError, match="is that a Dovetail server"):
        client.summary()
    thread.join()
    listening.close()


def test_amounts_are_written_for_people() -> None:
    assert (shown("cpu", 1.5), shown("memory", 3 * 2**30), shown("gpu", 2.0), shown("slots", 7)) == (
        "1.5",
        "3GiB",
        "2",
        "7",
    )
