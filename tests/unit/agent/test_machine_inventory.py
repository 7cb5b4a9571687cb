"""Kernel, virtualisation and interfaces of the machine that runs the tests; racks from a real lldpd."""

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import pytest
from tests.patience import wait_for

from dovetail.agent.inventory.lldp import rack_of, read_switches, switches_in
from dovetail.agent.inventory.machine import interfaces, virtualisation
from dovetail.agent.inventory.reading import FoundMachine, read_machine
from dovetail.backends.local.settings import LocalSettings
from dovetail.model.inventory import MachineInventory, SwitchPort


def test_the_machine_is_described_and_settings_say_it_better() -> None:
    found = read_machine()
    assert found.inventory.kernel == platform.release()
    named = LocalSettings.model_validate({"labels": {"kernel": "mine"}})
    labels = found.described(named).labels
    assert labels["kernel"] == "mine"
    assert labels["virtualisation"] == found.inventory.virtualisation != ""


def test_every_interface_but_the_loopback_is_there() -> None:
    found = {one.name: one for one in interfaces()}
    assert set(found) == set(psutil.net_if_stats()) - {"lo"}


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"run/systemd/container": "lxc"}, "lxc"),
        ({".dockerenv": ""}, "docker"),
        ({"sys/class/dmi/id/sys_vendor": "QEMU", "sys/class/dmi/id/product_name": "Standard PC"}, "qemu"),
        ({"sys/class/dmi/id/product_name": "KVM", "sys/class/dmi/id/sys_vendor": "Red Hat"}, "kvm"),
        ({"sys/class/dmi/id/sys_vendor": "Amazon EC2"}, "amazon"),
        ({"sys/class/dmi/id/sys_vendor": "Dell Inc."}, "none"),
        ({"sys/hypervisor/type": "xen"}, "xen"),
        ({"proc/device-tree/hypervisor/compatible": "linux,kvm\0"}, "kvm"),
        ({"proc/cpuinfo": "processor: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n"}, "vm-other"),
        ({"proc/cpuinfo": "processor: 0\nflags\t\t: fpu vme\n"}, "none"),
    ],
)
def test_virtualisation_is_read_from_files_where_no_program_tells_it(
    tmp_path: Path, files: dict[str, str], word: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert virtualisation(tmp_path) == word


@pytest.mark.skipif(shutil.which("systemd-detect-virt") is None, reason="systemd-detect-virt is not installed")
def test_virtualisation_is_what_systemd_says() -> None:
    asked = subprocess.run(["systemd-detect-virt"], capture_output=True, text=True, check=False)
    assert virtualisation() == asked.stdout.strip()


def test_a_rack_has_the_names_of_its_switches() -> None:
    ports = [SwitchPort(interface="eth1", switch="leaf-2"), SwitchPort(interface="eth0", switch="leaf-1")]
    assert rack_of(ports) == "leaf-1+leaf-2"
    assert rack_of([]) is None
    assert FoundMachine(MachineInventory(switches=ports), []).labels()["rack"] == "leaf-1+leaf-2"
    assert "rack" not in FoundMachine(MachineInventory(), []).labels()


@pytest.mark.parametrize("answer", [{}, {"lldp": 3}, {"lldp": [{"interface": [{"name": "eth0"}]}]}, {"lldp": []}])
def test_an_answer_without_neighbours_names_no_switch(answer: dict[str, object]) -> None:
    assert switches_in(answer) == []


def run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def has_begun(log: Path) -> bool:
    """Told anything before, it may never send."""
    return "should resume operations" in log.read_text()


def answers(socket: Path, *configure: str) -> bool:
    command = ["lldpcli", "-u", str(socket), "configure", *configure]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def lldpd() -> Iterator[Path]:
    """Its socket. Two of them, one a host's and one a switch's, in network namespaces joined by a cable."""
    if shutil.which("lldpd") is None or shutil.which("ip") is None or os.geteuid():
        pytest.skip("needs lldpd, ip and root; make test-deps installs them")
    host, switch = f"dv-host-{os.getpid()}", f"dv-switch-{os.getpid()}"
    with ExitStack() as undo:
        folder = Path(undo.enter_context(TemporaryDirectory(dir="/tmp")))
        folder.chmod(0o755)  # lldpd is not root for long
        for name in (host, switch):
            run("ip", "netns", "add", name)
            undo.callback(run, "ip", "netns", "del", name)
        run("ip", "link", "add", "eth0", "netns", host, "type", "veth", "peer", "swp7", "netns", switch)
        run("ip", "-n", switch, "link", "add", "br0", "type", "bridge")  # makes it one that forwards
        run("ip", "-n", switch, "link", "set", "swp7", "master", "br0")
        for name, interface in ((host, "eth0"), (switch, "swp7"), (switch, "br0")):
            run("ip", "-n", name, "link", "set", interface, "up")
        for name in (host, switch):
            command = ["ip", "netns", "exec", name, "lldpd", "-d", "-u", str(folder / name)]
            with (folder / f"{name}.log").open("wb") as log:
                daemon = subprocess.Popen(command, stdout=log, stderr=log)
            undo.callback(daemon.wait)
            undo.callback(daemon.terminate)
        for name in (host, switch):
            begun = partial(has_begun, folder / f"{name}.log")
            wait_for(begun, f"{name}: lldpd has read its settings")
        assert answers(folder / switch, "lldp", "tx-interval", "1")
        assert answers(folder / switch, "system", "hostname", "leaf-7")
        yield folder / host


def test_the_switch_that_a_machine_is_plugged_into_names_its_rack(lldpd: Path) -> None:
    def told() -> bool:
        return rack_of(read_switches(["-u", str(lldpd)])) == "leaf-7"

    wait_for(told, "the switch has told its name")
    [port] = read_switches(["-u", str(lldpd)])
    assert (port.interface, port.port) == ("eth0", "swp7")


def test_where_no_daemon_answers_there_is_no_rack(tmp_path: Path) -> None:
    assert read_switches(["-u", str(tmp_path / "nobody")]) == []
