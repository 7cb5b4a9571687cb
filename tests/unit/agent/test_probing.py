"""The part of an agent that measures, against a live server."""

import asyncio
import socket
from pathlib import Path

import pytest
from tests.patience import until
from tests.servers.daemon import free_ports
from tests.unit.api.server import serving, settings_in

from dovetail.agent.probing.probing import ProbeSettings, Probing
from dovetail.client import Client

pytestmark = pytest.mark.needs_server

QUICK = {"probe_every": "300ms", "publish_every": "100ms", "bandwidth_every": "1s"}


def test_two_agents_measure_each_other_on_the_ports_that_their_settings_name(tmp_path: Path) -> None:
    (port,) = free_ports(1)

    async def measured(client: Client) -> None:
        chosen = {"near": ProbeSettings(), "far": ProbeSettings(address="127.0.0.1", port=port)}
        tasks = [asyncio.ensure_future(Probing(name, one, lambda: client).run()) for name, one in chosen.items()]
        await until(lambda: is_known(client), "the pair is measured", every_s=0.1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def is_known(client: Client) -> bool:
        found = client.measured_distances()["items"]
        return bool(found) and found[0]["mbps"] is not None and (found[0]["rtt_us"] or 0.0) > 0

    with serving(settings_in(tmp_path, subsystems={"network": QUICK})) as url, Client(url) as client:
        for name in ("near", "far"):
            client.register_node({"name": name, "capacity": {"cpu": 1}})
        asyncio.run(measured(client))


def test_an_agent_that_is_not_to_measure_asks_for_nothing() -> None:
    def nobody() -> Client:
        raise AssertionError("it asked")

    asyncio.run(Probing("near", ProbeSettings(enabled=False), nobody).run())


def test_an_address_that_is_not_of_this_machine_is_said_and_the_agent_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def tried(client: Client) -> None:
        settings = ProbeSettings(address="192.0.2.1")
        task = asyncio.ensure_future(Probing("near", settings, lambda: client).run())
        await until(lambda: "cannot listen for probes on 192.0.2.1" in caplog.text, "it says so")
        assert not task.done()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    with serving(settings_in(tmp_path, subsystems={"network": QUICK})) as url, Client(url) as client:
        client.register_node({"name": "near", "capacity": {"cpu": 1}})
        asyncio.run(tried(client))
