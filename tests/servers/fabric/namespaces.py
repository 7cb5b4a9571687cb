"""Network namespaces by name: whether this machine allows them, entering one, making and removing them."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PLACE = Path("/run/netns")
_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_NEEDED = ("ip", "tc")


def enter(name: str) -> None:
    """Move this process there, for good. It must not have threads yet."""
    number = os.open(_PLACE / name, os.O_RDONLY)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(number, _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {name}")
    finally:
        os.close(number)


def why_not() -> str | None:
    """Why there can be none here; None: there can."""
    if os.geteuid():
        return "network namespaces need root"
    if missing := [program for program in _NEEDED if shutil.which(program) is None]:
        return f"{missing[0]} is not installed (apt: iproute2)"
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    name = f"dvt{os.getpid()}-try"
    try:
        ip([f"netns add {name}"])
        ip([f"netns delete {name}"])
    except RuntimeError as error:
        return f"network namespaces cannot be made here: {str(error).splitlines()[-1]}"
    return None


def ip(lines: Sequence[str], namespace: str | None = None) -> None:
    """Commands of `ip`, one a line."""
    _batch(["ip", *(() if namespace is None else ("-netns", namespace)), "-batch", "-"], lines)


def tc(lines: Sequence[str], namespace: str) -> None:
    _batch(["ip", "netns", "exec", namespace, "tc", "-batch", "-"], lines)


def _batch(command: list[str], lines: Sequence[str]) -> None:
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr.strip()}")


def remove_leftovers(prefix: str = "dvt") -> None:
    """Namespaces of test runs that were killed."""
    for path in _PLACE.glob(f"{prefix}*-*") if _PLACE.exists() else ():
        owner = path.name.removeprefix(prefix).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            ip([f"netns delete {path.name}"])
