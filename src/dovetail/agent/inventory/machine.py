"""The machine itself: its kernel, how it is virtualised, its network interfaces, the NUMA nodes of its devices."""

import platform
import shutil
import socket
import subprocess
from pathlib import Path

import psutil

from dovetail.model.inventory import MAX_ADDRESSES, MAX_INTERFACES, NetworkInterface

ANSWER_WITHIN_S = 5.0
_MAKERS = (  # as firmware names itself, and as systemd-detect-virt calls it
    ("kvm", "kvm"),
    ("amazon ec2", "amazon"),
    ("google compute engine", "google"),
    ("qemu", "qemu"),
    ("vmware", "vmware"),
    ("innotek", "oracle"),
    ("virtualbox", "oracle"),
    ("xen", "xen"),
    ("bochs", "bochs"),
    ("parallels", "parallels"),
    ("bhyve", "bhyve"),
    ("hyper-v", "microsoft"),
    ("virtual machine", "microsoft"),
    ("firecracker", "kvm"),
)
_FIRMWARE = ("product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version")


def kernel() -> str:
    return platform.release()


def virtualisation(root: Path = Path("/")) -> str:
    """As systemd-detect-virt says it; where that is missing, from the files that it reads. `none`: a real machine."""
    if root == Path("/") and (program := shutil.which("systemd-detect-virt")) is not None:
        try:
            # It fails where the answer is `none`.
            asked = subprocess.run([program], capture_output=True, text=True, timeout=ANSWER_WITHIN_S, check=False)  # noqa: S603 - no input
        except (OSError, subprocess.TimeoutExpired):
            pass
        else:
            if word := asked.stdout.strip():
                return word
    return _container(root) or _machine(root)


def _container(root: Path) -> str | None:
    if word := _text(root / "run/systemd/container"):
        return word
    for file, word in (("run/.containerenv", "podman"), (".dockerenv", "docker")):
        if (root / file).exists():
            return word
    return None


def _machine(root: Path) -> str:
    firmware = " ".join(_text(root / "sys/class/dmi/id" / name) for name in _FIRMWARE).lower()
    for maker, word in _MAKERS:
        if maker in firmware:
            return word
    if (word := _text(root / "sys/hypervisor/type").lower()) or (root / "proc/xen").exists():
        return word or "xen"
    if (tree := _text(root / "proc/device-tree/hypervisor/compatible").rstrip("\0")) or "qemu" in firmware:
        return {"linux,kvm": "kvm", "xen": "xen"}.get(tree.split("\0")[0], "vm-other")
    flags = [line for line in _text(root / "proc/cpuinfo").splitlines() if line.startswith("flags")]
    return "vm-other" if flags and " hypervisor" in flags[0] else "none"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def interfaces() -> list[NetworkInterface]:
    """All but the loopback, by name. Addresses that hold on one link only are left out."""
    states, found = psutil.net_if_stats(), []
    for name, addresses in sorted(psutil.net_if_addrs().items()):
        if name == "lo" or name not in states:
            continue
        ips = [one.address for one in addresses if one.family in (socket.AF_INET, socket.AF_INET6)]
        macs = [one.address for one in addresses if one.family == psutil.AF_LINK]
        interface = NetworkInterface(
            name=name,
            mac=macs[0] if macs else "",
            up=states[name].isup,
            speed_mbps=_speed_mbps(states[name].speed),
            addresses=sorted(ip for ip in ips if not ip.startswith("fe80:"))[:MAX_ADDRESSES],
        )
        found.append(interface)
    return found[:MAX_INTERFACES]


def _speed_mbps(told: int) -> int | None:
    """Drivers say 0 or 65535 where they do not know."""
    return told if 0 < told != 65535 else None


def numa_of(address: str) -> int | None:
    """Of the device with this PCI address; None where the machine has only one, or does not say."""
    told = _text(Path("/sys/bus/pci/devices") / address / "numa_node")
    return int(told) if told.isdigit() else None


def runs_mps() -> bool:
    """Whether the daemon runs that lets processes share GPUs."""
    return any(one.info["name"] == "nvidia-cuda-mps-control" for one in psutil.process_iter(["name"]))
