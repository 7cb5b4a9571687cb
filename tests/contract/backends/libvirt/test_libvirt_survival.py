"""Kills: the control plane at random moments runs every VM once; a server that is killed finds its VMs; a drain moves
them while they run."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.killed_control_plane import assert_each_ran_once, live_and_die
from tests.contract.backends.libvirt import control_plane
from tests.contract.backends.libvirt.rig import Hosts, host_of, libvirt_settings
from tests.patience import wait_for
from tests.servers.tiny_guest import machine, write_kernel
from tests.unit.api.server import serving

from dovetail.client import Client
from dovetail.control.settings import Settings

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]


@pytest.mark.slow
def test_a_control_plane_killed_at_random_moments_runs_every_vm_exactly_once(
    tmp_path: Path, libvirt_servers: Hosts
) -> None:
    server, attempts = libvirt_servers[0], 7
    arguments = [str(tmp_path), str(attempts), str(server.pool), str(server.socket)]
    live_and_die([sys.executable, "-m", control_plane.__name__, *arguments], 6, (0.5, 3.0))
    keys = [f"{number}.0.1" for number in range(1, attempts + 1)]
    starts = [key for key in keys for _ in range(server.starts(f"dovetail-{control_plane.CLUSTER}-{key}"))]
    (tmp_path / "starts").write_text("\n".join(starts))
    assert_each_ran_once(tmp_path / "starts", tmp_path, attempts)
    assert not [name for name in server.running() if control_plane.CLUSTER in name]


def test_a_server_finds_its_vms_again_and_a_drain_moves_them_while_they_run(
    tmp_path: Path, libvirt_servers: Hosts
) -> None:
    first, second = libvirt_servers
    write_kernel(first.pool)
    backend = libvirt_settings(*(host_of(one, overcommit={"cpu": 4}) for one in libvirt_servers))
    entry: dict[str, Any] = {"kind": "libvirt", **backend.model_dump(mode="json")}
    settings = Settings.model_validate({"data": str(tmp_path / "data"), "backends": {"vms": entry}})
    spec = machine(text="up\n", resources={"cpu": 1, "memory": "8MiB"}, constraints=[{"prefer": 'node.name == "hv1"'}])

    def places(client: Client) -> list[str]:
        return [row["node"] for row in client.vms() if row["workload"] == "work" and row["power"] == "running"]

    with serving(settings) as url, Client(url) as client:
        client.submit(spec.model_dump(mode="json", exclude_unset=True))
        wait_for(lambda: client.workload("work")["state"] == "running")
        (here,) = places(client)
        name = next(row["name"] for row in client.vms() if row["workload"] == "work")
    with serving(settings) as url, Client(url) as client:
        wait_for(lambda: client.workload("work")["state"] == "running")
        assert places(client) == [here]
        other = "hv2" if here == "hv1" else "hv1"
        client.drain(here)
        wait_for(lambda: places(client) == [other])
        wait_for(lambda: client.tasks("work")[0]["node"] == other)
        (task,) = client.tasks("work")
        assert (task["state"], task["attempt"]) == ("running", 1), "it was moved, and not started again"
        assert client.vm_migration("work")["sent_bytes"]
        assert sum(server.starts(name) for server in (first, second)) == 2, "QEMU was started once on each"
        client.cancel("work")
        wait_for(lambda: client.workload("work")["state"] == "cancelled")
