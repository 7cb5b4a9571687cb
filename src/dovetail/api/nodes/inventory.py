"""What an agent found in its machine, in words: one fact a line."""

from dovetail.model.inventory import InventoryGpu, MachineInventory, NetworkInterface
from dovetail.model.text.listing import count
from dovetail.model.text.quantity import show_bytes

MOST_INTERFACES = 20


def inventory_in_words(found: MachineInventory | None) -> str:
    if found is None:
        return ""
    lines = [f"Kernel: {found.kernel}", f"Virtualisation: {found.virtualisation}"]
    if found.driver is not None:
        mps = "runs" if found.mps else "does not run"
        lines.append(f"GPU driver: {found.driver}, CUDA {found.cuda}; MPS {mps}")
    lines += map(_gpu, found.gpus)
    lines += map(_interface, found.interfaces[:MOST_INTERFACES])
    if (left := len(found.interfaces) - MOST_INTERFACES) > 0:
        lines.append(f"and {count(left, 'interface')} more; -o json lists them")
    lines += [f"Switch: {one.switch}, port {one.port}, at {one.interface}" for one in found.switches]
    return "\n".join(lines) + "\n"


def _gpu(one: InventoryGpu) -> str:
    """`GPU 0000:00:06.0: NVIDIA H200, 140GiB, no NVLinks, MIG off`"""
    links = ", ".join(f"{count(number, 'NVLink')} to {peer}" for peer, number in one.links.items())
    mig = [] if one.mig is None else [f"MIG {one.mig}"]
    profiles = [part.profile for part in one.instances]
    if profiles:
        mig = [f"MIG on: {', '.join(profiles)}"]
    return f"GPU {one.address}: {', '.join([one.model, show_bytes(one.memory), links or 'no NVLinks', *mig])}"


def _interface(one: NetworkInterface) -> str:
    """`Interface eth0: up, 25 Gbit/s, 10.0.0.7, 02:fc:00:00:00:01`"""
    speed = [] if one.speed_mbps is None else [f"{one.speed_mbps / 1000:g} Gbit/s"]
    facts = ["up" if one.up else "down", *speed, *one.addresses, *([one.mac] if one.mac else [])]
    return f"Interface {one.name}: {', '.join(facts)}"
