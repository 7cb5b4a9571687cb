"""A second machine: a real server over TLS, a real agent, and either of them killed while work runs."""

import os
import platform
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.e2e.agent_process import AgentProcess
from tests.e2e.server_process import ServerProcess
from tests.e2e.warm_shell import run_warm
from tests.patience import wait_for
from tests.servers.metadata_service import NOTICES, MetadataServer

from dovetail.access.certificates import fingerprint
from dovetail.client import Client, DovetailError

#: They restart one server and one agent: each test goes on where the one before it ended.
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("agent")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"listen": {"tls": "self-signed"}, "backends": {}, "loop": {"heartbeat_timeout": "20s"}}
    with ServerProcess(tmp_path_factory.mktemp("server"), settings) as found:
        yield found


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as found:
        yield found


@pytest.fixture(scope="module")
def agent(server: ServerProcess, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    found = AgentProcess(tmp_path_factory.mktemp("agent"))
    token = client.make_join_token(uses=1, ttl="10m")["token"]
    print_of = fingerprint(server.folder / "data" / "tls.crt")
    found.start("--join", server.url, "--token", token, "--fingerprint", print_of)
    wait_for((found.data / "identity.json").exists, "it has joined, and has its token")
    wait_for(lambda: [node["name"] for node in client.nodes()] == ["far"])
    yield found
    found.end()


def submitted(client: Client, name: str, script: str) -> None:
    client.submit({"name": name, "run": {"command": ["sh", "-c", script]}})


def in_state(client: Client, name: str, state: str) -> None:
    wait_for(lambda: client.workload(name)["state"] == state, f"{name} is {state}")


def test_work_runs_there_and_its_output_is_read_from_here(client: Client, agent: AgentProcess) -> None:
    submitted(client, "hello", "echo on $DOVETAIL_NODE; exit 3")
    in_state(client, "hello", "failed")
    assert client.logs("hello").text == "on far\n"
    assert client.logs("hello", tail=1).text == "on far\n"
    assert (agent.data / "identity.json").stat().st_mode & 0o777 == 0o600
    wait_for(lambda: not list((agent.data / "orders").iterdir()), "what the server knows is not kept")


def test_what_the_machine_has_is_shown_and_a_change_is_reported(
    client: Client, agent: AgentProcess, tmp_path: Path
) -> None:
    found = client.node("far")
    inventory = found["inventory"]
    assert inventory is not None
    assert inventory["kernel"] == found["labels"]["kernel"] == platform.release()
    assert "inventory" not in found["definition"]
    assert f"Kernel: {platform.release()}\n" in client.diagnostics("far")
    client.register_node({**found["definition"], "inventory": {**inventory, "kernel": "another"}})
    assert "Kernel: another\n" in client.diagnostics("far")
    client.register_node(found["definition"])  # by a person, who leaves it as it is
    assert "Kernel: another\n" in client.diagnostics("far")
    agent.end()
    agent.start()
    wait_for(lambda: f"Kernel: {platform.release()}\n" in client.diagnostics("far"), "it is introduced again")


def command_runs(word: str) -> bool:
    return any(word in " ".join(one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"]))


def test_what_each_task_uses_is_measured_and_shown(client: Client, agent: AgentProcess) -> None:
    submitted(client, "busy", "while :; do :; done")

    def measured() -> bool:
        [task] = client.tasks("busy")
        return bool(task.get("use", {}).get("cpu_cores"))

    wait_for(measured, "its use was measured twice, and reported")
    [task] = client.node_tasks("far")
    assert task["use"]["memory_bytes"]
    assert task["use"]["measured_at"] > 0
    shown = run_warm(["nodes", "far", "--url", client.url], dict(os.environ)).stdout
    assert " CPU " in shown
    assert " MEM" in shown
    client.cancel("busy", force=True)
    in_state(client, "busy", "cancelled")


def test_commands_run_next_to_its_tasks_and_end_when_nobody_reads_them(
    server: ServerProcess, client: Client, agent: AgentProcess, tmp_path: Path
) -> None:
    submitted(client, "beside", "sleep 600")
    in_state(client, "beside", "running")
    command = ["exec", "beside", "--url", client.url, "--", "sh", "-c", "echo on $DOVETAIL_NODE; exit 3"]
    done = run_warm(command, dict(os.environ))
    assert (done.returncode, done.stdout) == (3, "on far\n")
    marker = tmp_path / "pid"
    started = client.execute("beside", ["sh", "-c", f"echo $$ > {marker}; sleep 600"])["id"]
    wait_for(lambda: marker.exists() and bool(marker.read_text().strip()), "the command runs")
    assert command_runs(str(marker))
    client.end_exec(started)
    wait_for(lambda: not command_runs(str(marker)), "the command has ended")
    client.cancel("beside", force=True)
    in_state(client, "beside", "cancelled")


def test_neither_a_killed_agent_nor_a_killed_server_touches_what_runs(
    server: ServerProcess, client: Client, agent: AgentProcess, tmp_path: Path
) -> None:
    runs, go = tmp_path / "runs", tmp_path / "go"
    script = f"echo begun >> {runs}; until [ -e {go} ]; do sleep 0.05; done; echo ended >> {runs}"
    submitted(client, "long", script)
    in_state(client, "long", "running")
    agent.end()
    agent.start()
    server.kill()
    server.start()
    agent.end()
    go.touch()
    wait_for(lambda: runs.read_text() == "begun\nended\n", "it ends while its agent is away")
    agent.start()
    in_state(client, "long", "succeeded")
    assert runs.read_text() == "begun\nended\n"


def test_cancelling_ends_it_and_force_does_not_wait_for_its_grace(client: Client, agent: AgentProcess) -> None:
    assert agent.process is not None
    stubborn = {"command": ["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"]}
    client.submit({"name": "stubborn", "run": stubborn, "disruption": {"grace": "365d"}})
    in_state(client, "stubborn", "running")
    client.cancel("stubborn", force=True)
    in_state(client, "stubborn", "cancelled")


def test_its_token_speaks_for_its_node_alone(server: ServerProcess, client: Client, agent: AgentProcess) -> None:
    token = client.make_node_token("far")["token"]
    with Client(server.url, token=token) as of_node:
        assert of_node.node("far")["name"] == "far"
        for asked in (of_node.nodes, lambda: of_node.orders("other"), lambda: of_node.drain("other")):
            with pytest.raises(DovetailError, match="speaks for node far alone"):
                asked()
    wait_for(lambda: "does not accept the token" in agent.log.read_text(), "the agent says that its token is refused")
    agent.end()
    (agent.data / "identity.json").unlink()
    agent.start("--join", server.url, "--token", token, "--fingerprint", fingerprint(server.folder / "data/tls.crt"))
    submitted(client, "again", "true")
    in_state(client, "again", "succeeded")


def test_it_keeps_its_name_and_drains_when_it_is_told_to_stop(
    client: Client, agent: AgentProcess, tmp_path: Path
) -> None:
    agent.end()
    settings = tmp_path / "agent.yaml"
    settings.write_text("{drain_on_stop: true, longest_pause: 200ms, local: {run_as: server, grace_s: 1s}}\n")
    agent.start_as("--config", str(settings), "--data", str(agent.data))
    submitted(client, "moved", "sleep 600")
    in_state(client, "moved", "running")
    assert agent.end(signal.SIGTERM) == 0
    in_state(client, "moved", "pending")
    assert client.node("far")["drained"]
    client.cancel("moved")
    client.uncordon("far")


def test_a_drain_waits_for_a_server_that_is_away_and_a_second_signal_does_not(
    server: ServerProcess, client: Client, agent: AgentProcess, tmp_path: Path
) -> None:
    settings = tmp_path / "agent.yaml"
    settings.write_text("{drain_on_stop: true, longest_pause: 200ms, local: {run_as: server, grace_s: 1s}}\n")
    restarted = ("--config", str(settings), "--data", str(agent.data))

    def drains() -> int:
        return agent.log.read_text().count("drains; tell it once more")

    before = drains()
    agent.start_as(*restarted)
    submitted(client, "left", "sleep 600")
    in_state(client, "left", "running")
    server.kill()
    assert agent.process is not None
    agent.process.send_signal(signal.SIGTERM)
    wait_for(lambda: drains() == before + 1, "it says what it waits for")
    server.start()
    assert agent.process.wait() == 0
    assert client.node("far")["drained"]
    client.uncordon("far")
    agent.start_as(*restarted)
    in_state(client, "left", "running")
    server.kill()
    agent.process.send_signal(signal.SIGTERM)
    wait_for(lambda: drains() == before + 2, "it waits again")
    assert agent.end(signal.SIGTERM) == 0
    server.start()
    agent.start()
    in_state(client, "left", "running")
    client.cancel("left", force=True)
    in_state(client, "left", "cancelled")


@pytest.mark.parametrize("cloud", ["ec2", "azure", "gcp"])
def test_the_node_drains_when_a_cloud_takes_the_machine_back(
    client: Client, agent: AgentProcess, tmp_path: Path, cloud: str
) -> None:
    settings = tmp_path / "agent.yaml"
    with MetadataServer() as service:
        asks = f"{{cloud: {cloud}, url: '{service.url}', every: 200ms}}"
        settings.write_text(f"{{interruptions: {asks}, longest_pause: 200ms, local: {{run_as: server, grace_s: 1s}}}}")
        agent.start_as("--config", str(settings), "--data", str(agent.data))
        submitted(client, f"on-{cloud}", "sleep 600")
        in_state(client, f"on-{cloud}", "running")
        service.taken_back = True
        in_state(client, f"on-{cloud}", "pending")
    found = client.node("far")
    assert found["drained"]
    assert found["reason"] == NOTICES[cloud]
    client.cancel(f"on-{cloud}")
    agent.start()
    client.uncordon("far")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "has not joined anything yet"),
        (["--join", "ftp://x", "--token", "t"], "is not the address of a server"),
        (["--join", "URL", "--token", "dovetail_join_wrong", "--fingerprint", "RIGHT"], "does not let node near join"),
        (["--join", "URL", "--token", "dovetail_join_wrong", "--fingerprint", "00:11"], "not the one given"),
        (["--config", "/nosuch.yaml"], "/nosuch.yaml"),
    ],
)
def test_what_cannot_be_done_is_said(server: ServerProcess, tmp_path: Path, options: list[str], words: str) -> None:
    right = fingerprint(server.folder / "data" / "tls.crt")
    meant = [{"URL": server.url, "RIGHT": right}.get(one, one) for one in options]
    began = time.monotonic()
    done = run_warm(["agent", "--name", "near", "--data", str(tmp_path / "near"), *meant], dict(os.environ))
    assert done.returncode != 0, time.monotonic() - began
    assert words in done.stderr
