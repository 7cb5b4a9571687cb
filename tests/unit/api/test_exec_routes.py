"""Commands next to tasks: which are refused and why, what becomes of those that nobody reads."""

import uuid
from collections.abc import Iterator

import httpx
import pytest
from tests.patience import wait_for
from tests.processes import process_with
from tests.servers.own_token import OWN_TOKEN
from tests.unit.api.server import API, in_state, problem_in, serving, settings_in, submitted

from dovetail.control.services import task_commands

LOCAL = {"backends": {"here": {"kind": "local", "node": "here"}}}


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with (
        serving(settings_in(tmp_path_factory.mktemp("data"), **LOCAL)) as url,
        httpx.Client(auth=OWN_TOKEN, base_url=url + API, timeout=60, trust_env=False, verify=False) as client,
    ):
        submitted(client, {"name": "sleeps", "resources": {"cpu": "100m"}, "run": {"command": ["sleep", "1000"]}})
        in_state(client, "sleeps", "running")
        wait_for(lambda: client.get("/workloads/sleeps/tasks").json()["items"][0]["state"] == "running")
        yield client
        client.delete("/workloads/sleeps")


def started(local: httpx.Client) -> tuple[str, str]:
    """The id of a command that sleeps, and a word among its arguments."""
    word = f"sleeper-{uuid.uuid4()}"
    wish = {"command": ["sh", "-c", "echo ready; while :; do sleep 0.05; done", word]}
    id_ = local.post("/workloads/sleeps/exec", json=wish).json()["id"]
    assert local.get(f"/exec/{id_}/output").text == "ready\n"
    return id_, word


def test_a_backend_that_cannot_run_commands_says_so(http: httpx.Client) -> None:
    submitted(http, {"name": "simulated"})
    in_state(http, "simulated", "running")
    problem = problem_in(http.post("/workloads/simulated/exec", json={"command": ["ls"]}), 409)
    assert problem["detail"].startswith("backend sim, which runs simulated.0, ")
    assert problem["detail"].endswith("cannot run commands next to its tasks")
    assert problem["type"] == "urn:dovetail:problem:not-supported"
    http.delete("/workloads/simulated")


def test_the_log_names_the_program_and_no_argument(local: httpx.Client, capfd: pytest.CaptureFixture[str]) -> None:
    wish = {"command": ["echo", "--password=hunter2"]}
    id_ = local.post("/workloads/sleeps/exec", json=wish).json()["id"]
    assert "hunter2" in local.get(f"/exec/{id_}/output").text
    logged = "".join(capfd.readouterr())
    assert "sleeps.0" in logged
    assert "hunter2" not in logged


def test_what_is_not_there_or_does_not_run_is_refused(http: httpx.Client) -> None:
    submitted(http, {"name": "waits", "resources": {"cpu": 999}})
    problem_in(http.post("/workloads/waits/exec", json={"command": ["ls"]}), 409)
    problem_in(http.post("/workloads/waits/exec?replica=1", json={"command": ["ls"]}), 404)
    problem_in(http.post("/workloads/waits/exec", json={"command": []}), 422)
    problem_in(http.get("/exec/nothing/output"), 404)
    problem_in(http.delete("/exec/nothing"), 404)
    http.delete("/workloads/waits")


def test_a_command_that_is_ended_or_that_nobody_reads_does_not_go_on(
    local: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, word = started(local)
    assert process_with(word)
    assert local.delete(f"/exec/{id_}").status_code == 204
    wait_for(lambda: not process_with(word))
    id_, word = started(local)
    monkeypatch.setattr(task_commands, "FORGOTTEN_AFTER_S", 0.05)
    local.get(f"/exec/{id_}/output")  # the last time
    wait_for(lambda: not process_with(word))
    problem_in(local.get(f"/exec/{id_}/output"), 404)


def test_output_that_nobody_reads_is_bounded(local: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_commands, "MOST_UNREAD_BYTES", 1000)
    wish = {"command": ["sh", "-c", "head -c 500000 /dev/zero; exit 5"]}
    id_ = local.post("/workloads/sleeps/exec", json=wish).json()["id"]
    read = 0
    while True:
        answer = local.get(f"/exec/{id_}/output?offset={read}")
        assert len(answer.content) <= 1000 + 64 * 1024
        read = int(answer.headers["X-Next-Offset"])
        if answer.headers["X-Ended"] == "true" and not answer.content:
            break
    assert (read, answer.headers["X-Exit-Code"]) == (500_000, "5")
    local.delete(f"/exec/{id_}")
