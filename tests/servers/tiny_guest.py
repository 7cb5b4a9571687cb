"""The smallest guest that is of use to tests: two sectors of code, which boot in a third of a second under emulation.

QEMU loads it as it loads Linux. It reads its command line, `TTTT-EEE-HEX`, writes the text (in hexadecimal) to the
serial line, waits so many ticks (four hexadecimal digits, 18.2 ticks a second, `ffff`: for ever) or for the power
button, then writes `dovetail: exit EEE` and switches itself off. With `pan` as exit code it tells QEMU that it
panicked. It is x86 code, which runs under emulation on any machine. Its source is `tiny_guest.s`; to assemble it
again:

    as --32 tiny_guest.s -o guest.o && objcopy -O binary -j .text guest.o guest.bin && xxd -p -s 0x1f0 guest.bin
"""

from pathlib import Path
from typing import Any

from dovetail.model.workloads.workload import Workload

TICKS_A_SECOND = 18.2
FOR_EVER = "ffff"
NAME = "tiny-guest"
_HEADER_AT, _SIZE = 0x1F0, 0x410
_CODE = (
    "000100000100000000000000000055aaeb56486472530202000000000000000000010000000010000000000000000000000000000000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000fab80020"
    "8ed831f6e8b30089dd4689f783c6048a043c307208e89200e87200ebf2e4a10c02e6a1ba0206b80001effb31c08ec0268b1e6c04ba00"
    "06edf6c401751283fdff740a26a16c0429d839e87303f4ebe5fa803d707508ba0505b001eeeb2d0e1fbe21018a044684c07405e82100"
    "ebf4b800208ed8b903008a0547e81100e2f8b00ae80a00ba0406b80020eff4ebfd5250bafd03eca82074fb58baf803ee5ac38a04462c"
    "303c0a72022c27c353e8f0ff88c3c0e304e8e8ff08d85bc3e8edff88c7e8e8ff88c3c30a646f76657461696c3a206578697420"
)


def write_kernel(pool: Path) -> str:
    """Into a storage pool. Returns the name of the volume."""
    code = bytes.fromhex(_CODE)
    (pool / NAME).write_bytes((b"\0" * _HEADER_AT + code).ljust(_SIZE, b"\0"))
    return NAME


def kernel_args(run_s: float, exit_code: int | str, text: str = "") -> str:
    """`exit_code`: a number, or `pan` for a panic. From an hour on it runs for ever."""
    ticks = FOR_EVER if run_s >= 3600 else f"{max(1, round(run_s * TICKS_A_SECOND)):04x}"
    code = exit_code if isinstance(exit_code, str) else f"{exit_code:03}"
    return f"{ticks}-{code}-{text.encode().hex()}"


def machine(run_s: float = 3600, exit_code: int | str = 0, text: str = "", **fields: Any) -> Workload:
    """A VM of 8 MiB that boots it."""
    vm = {"kernel": NAME, "kernel_args": kernel_args(run_s, exit_code, text), "machine": "pc", "arch": "x86_64"}
    given = {"name": "work", "kind": "vm", "resources": {"cpu": 1, "memory": "8MiB"}, "vm": vm | fields.pop("vm", {})}
    return Workload.model_validate(given | fields)
