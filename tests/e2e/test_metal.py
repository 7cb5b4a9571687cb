"""A machine that is off: work is submitted, its controller powers it on, it boots and its agent runs the work. When it
is idle it is powered off again, and what that saved is told. The server, the agent and the commands are the real ones;
the machine is one of the Redfish emulator, and its boot is an agent process that the test starts when it is on."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.e2e.agent_process import AgentProcess
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.redfish import RedfishServer, redfish_server

from dovetail.client import Client, DovetailError

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("metal")]
NODE = "rack1-u3"


class Machine:
    """Starts its agent when the power comes, and kills it when it goes."""

    def __init__(self, redfish: RedfishServer, agent: AgentProcess) -> None:
        self._redfish, self._agent = redfish, agent
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @contextmanager
    def plugged_in(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def _run(self) -> None:
        runs = False
        while not self._over.wait(0.1):
            is_on = self._redfish.power(NODE) == "on"
            if is_on and not runs:
                self._agent.start()
            elif runs and not is_on:
                self._agent.end(signal.SIGKILL)
            runs = is_on
        if runs:
            self._agent.end(signal.SIGKILL)


@pytest.fixture
def redfish() -> Iterator[RedfishServer]:
    with redfish_server(NODE, "rack1-u4") as server:
        yield server


def metal(redfish: RedfishServer) -> dict[str, object]:
    shape = {"rack": "rack1", "capacity": {"cpu": 2, "memory": "1G"}, "watts": 400}
    return {
        "kind": "metal",
        "machines": {
            NODE: {"bmc": redfish.bmc(NODE), **shape, "labels": {"slot": "u3"}},
            "rack1-u4": {"bmc": redfish.bmc("rack1-u4"), **shape, "labels": {"spare": "yes"}},
        },
        "poll": "200ms",
        "idle": "2s",
        "shutdown_within": 0,
        "energy": {"price_per_kwh": 0.3, "currency": "EUR", "carbon_g_per_kwh": 400},
    }


def test_a_machine_is_powered_on_for_work_and_off_when_idle(redfish: RedfishServer, tmp_path: Path) -> None:
    settings = {"backends": {"rack": metal(redfish)}, "loop": {"heartbeat_timeout": "20s"}}
    with ServerProcess(tmp_path, settings) as server, Client(server.url) as client:
        wait_for(lambda: {node["name"] for node in client.nodes()} == {NODE, "rack1-u4"}, "the nodes")
        agent = AgentProcess(tmp_path, NODE)
        token = client.make_join_token(uses=1, ttl="10m")["token"]
        agent.start("--join", server.url, "--token", token)  # once, when the machine was set up
        wait_for((agent.data / "identity.json").exists, "its token")
        agent.end()
        with Machine(redfish, agent).plugged_in():
            run = {"command": ["sh", "-c", "echo on $DOVETAIL_NODE"]}
            client.submit({"name": "job", "run": run, "node_selector": {"slot": "u3"}})
            wait_for(lambda: client.workload("job")["state"] == "succeeded", "the job has run")
            assert redfish.on() == [NODE], "only the machine that was wanted"
            assert client.logs("job").text == f"on {NODE}\n"
            wait_for(lambda: redfish.power(NODE) == "off", "it is powered off when it is idle")
            wait_for(lambda: client.metal_savings()["kwh"] > 0, "a saving")
            client.submit({"name": "long", "run": {"command": ["sleep", "600"]}, "node_selector": {"slot": "u3"}})
            wait_for(lambda: client.workload("long")["state"] == "running", "it is powered on again")
            with pytest.raises(DovetailError, match="rack1-u3 runs 1 task; drain it and wait, or use --force"):
                client.metal_power(NODE, "shutdown")
            server.kill()
            server.start()
            saved = client.metal_savings()
            assert saved["since"] is not None
            wait_for(lambda: client.workload("long")["state"] == "running", "it is found again")
            assert redfish.power(NODE) == "on"
            client.cancel("long")
            wait_for(lambda: redfish.power(NODE) == "off", "off at last")
            metrics = server.http.get("/metrics").text
            assert 'dovetail_backend_saved_kilowatt_hours{backend="rack"}' in metrics
