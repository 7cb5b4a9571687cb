"""VMs on real hypervisors that need something of the machine: UEFI firmware, huge pages, a NUMA cell.

The machines that run this mostly have one NUMA cell. That VMs are kept in a second one is tested on what such a machine
says of itself (`tests/unit/backends/libvirt/test_libvirt_numa.py`).
"""

import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.contract.backends.conformance import Rig, run_async, started
from tests.contract.backends.libvirt.rig import (
    Hosts,
    backend_of,
    bound,
    domain_name,
    host_of,
    libvirt_settings,
    libvirt_subject,
    start,
)
from tests.contract.backends.machine_control import until
from tests.servers.huge_pages import free_pages, huge_pages
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import kernel_args, machine

from dovetail.backends.contract import Refusal
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.model.event import TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.workloads.workload import Workload

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("libvirt")]

PAGES = "libvirt.org/hugepages-2Mi"
FOREIGN = """<domain type='qemu'><name>{name}</name><memory unit='MiB'>4</memory><vcpu>1</vcpu>
<memoryBacking><hugepages><page size='2048' unit='KiB'/></hugepages></memoryBacking>
<os><type arch='x86_64' machine='pc'>hvm</type><kernel>{pool}/tiny-guest</kernel><cmdline>{args}</cmdline></os>
<features><acpi/></features><devices><emulator>/usr/bin/qemu-system-x86_64</emulator></devices></domain>"""


@pytest.fixture
def settings(libvirt_servers: Hosts) -> LibvirtSettings:
    return libvirt_settings(*map(host_of, libvirt_servers), look_interval_s="1s")


def described(server: LibvirtServer, domain: str) -> ET.Element:
    connection = server.connect()
    text = connection.lookupByName(domain).XMLDesc()
    connection.close()
    return ET.fromstring(text)


def qemu_of(server: LibvirtServer, domain: str) -> Path:
    """In /proc."""
    return Path("/proc") / (server.folder / "run" / "qemu" / f"{domain}.pid").read_text()


async def end(rig: Rig, key: str) -> None:
    await backend_of(rig).kill(key, "enough")
    await rig.finished(key)


# --- UEFI ------------------------------------------------------------------------------------------------------------


def with_firmware(server: LibvirtServer, firmware: str) -> Workload:
    """A VM with an empty disk: the firmware finds nothing there, and says so."""
    image = server.pool / "empty.qcow2"
    if not image.exists():
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", image, "1M"], check=True, timeout=60)
    vm = {"image": image.name, "arch": "x86_64", "firmware": firmware}
    fields = {"name": "work", "kind": "vm", "resources": {"cpu": 1, "memory": "64MiB"}, "vm": vm}
    return Workload.model_validate(fields)


def skip_without_firmware() -> None:
    if not Path("/usr/share/OVMF/OVMF_CODE_4M.fd").exists():
        pytest.skip("UEFI firmware is not installed (Debian: ovmf)")


def test_uefi_firmware_looks_for_something_to_boot_and_goes_with_its_vm(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    skip_without_firmware()

    async def scene() -> None:
        first, second = libvirt_servers
        async with started(libvirt_subject(tmp_path, first, settings)) as rig:
            works = [bound(rig, with_firmware(first, firmware)) for firmware in ("uefi", "uefi-secure")]
            for work in works:
                await rig.backend.bind(work)
                await rig.reports.until(TaskStarted, work.key)
            plain, secure = (domain_name(settings, work.key) for work in works)
            loaders = [described(first, name).find("os/loader") for name in (plain, secure)]
            assert [one is not None and one.get("secure") for one in loaders] == [None, "yes"]
            await end(rig, works[1].key)
            key = works[0].key
            variables = [host.folder / "lib" / "qemu" / "nvram" / f"{plain}_VARS.fd" for host in (first, second)]
            assert variables[0].exists()
            said, log = "BdsDxe: failed to load Boot0001", first.pool / f"{plain}.log"
            await until(lambda: said in log.read_text(errors="replace"), "the words of the firmware")
            assert said in (await rig.backend.logs(key, 0, 100_000)).text
            with pytest.raises(Refusal, match="pflash"):
                await backend_of(rig).take_snapshot(key, "before")
            await backend_of(rig).migrate(key, "hv2")
            assert plain in second.running()
            assert variables[1].exists()
            await end(rig, key)
            await until(lambda: not any(file.exists() for file in variables), "the removal of its variables")

    run_async(scene)


def test_a_hypervisor_without_uefi_firmware_refuses_and_names_the_package(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    skip_without_firmware()

    async def scene() -> None:
        server = libvirt_servers[0]
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:
            with server.without("/usr/share/qemu/firmware"), pytest.raises(Refusal, match="Debian: ovmf") as refused:
                await rig.backend.bind(bound(rig, with_firmware(server, "uefi")))
            assert refused.value.cause is FailureCause.NODE, "it is tried elsewhere"

    run_async(scene)


# --- huge pages, NUMA ------------------------------------------------------------------------------------------------


def test_huge_pages_are_what_a_node_offers_and_what_a_vm_is_made_of(
    tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings
) -> None:
    spec = machine(
        resources={"cpu": 1, "memory": "7MiB", PAGES: 4}, limits={"memory": "64MiB"}, vm={"huge_pages": "2Mi"}
    )

    async def scene() -> None:
        server = libvirt_servers[0]
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:

            def offered() -> int:
                node = next(node for node in rig.reports.nodes if node.name == "hv1")
                return node.capacity.amounts().get(PAGES, 0)

            without = offered()
            with huge_pages(8):
                await rig.reports.until_true(lambda: offered() == without + 8, "pages that were reserved later")
                free = free_pages()
                key = await start(rig, spec)
                assert free_pages() == free - 4
                name = domain_name(settings, key)
                assert described(server, name).find("memoryBacking/hugepages/page") is not None
                assert "kernelpagesize_kB=2048" in (qemu_of(server, name) / "numa_maps").read_text()
                connection = server.connect()
                foreign = FOREIGN.format(name="huge", pool=server.pool, args=kernel_args(3600, 0))
                domain = connection.createXML(foreign)
                await rig.reports.until_true(lambda: offered() == without + 6, "less by what another VM has")
                with pytest.raises(Refusal, match="reserve more huge pages") as refused:
                    await rig.backend.bind(bound(rig, spec))
                assert refused.value.cause is FailureCause.NODE
                domain.destroy()
                connection.close()
                await rig.reports.until_true(lambda: offered() == without + 8, "all pages, also those of our own VM")
                await end(rig, key)
                assert free_pages() == free
            await rig.reports.until_true(lambda: offered() == without, "the end of the pages")

    run_async(scene)


def test_a_vm_stays_in_its_numa_cell(tmp_path: Path, libvirt_servers: Hosts, settings: LibvirtSettings) -> None:
    def in_cell(number: int) -> Workload:
        resources = {"cpu": 1, "memory": "8MiB", f"libvirt.org/numa-{number}-MiB": 8}
        return machine(resources=resources, vm={"numa_cell": number})

    async def scene() -> None:
        server, other = libvirt_servers
        async with started(libvirt_subject(tmp_path, server, settings)) as rig:
            node = next(node for node in rig.reports.nodes if node.name == "hv1")
            cells = int(node.labels["numa_cells"])
            offered = [node.capacity.amounts()[f"libvirt.org/numa-{cell}-MiB"] for cell in range(cells)]
            assert sum(offered) == pytest.approx(node.capacity.memory / 2**20, rel=0.05)
            key = await start(rig, in_cell(0))
            name = domain_name(settings, key)
            assert "bind:0" in (qemu_of(server, name) / "numa_maps").read_text()
            cpus = described(server, name).find("vcpu")
            assert cpus is not None
            assert cpus.get("cpuset")
            await backend_of(rig).migrate(key, "hv2")
            assert "bind:0" in (qemu_of(other, name) / "numa_maps").read_text()
            await end(rig, key)
            with pytest.raises(Refusal, match=f"has no NUMA cell {cells}") as refused:
                await rig.backend.bind(bound(rig, in_cell(cells)))
            assert refused.value.cause is FailureCause.NODE

    run_async(scene)
