"""Real IPMI: OpenIPMI's simulator of a management controller, one process for each machine.

The power and the boot device of a machine are files, which the simulator's `chassis_control` script reads and writes.
Sensors: a temperature, a fan and the power, as files too. `power` and `set_power` go around the controller under test.
"""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.servers.daemon import Daemon, free_ports, server_folder, skip_without

USER, PASSWORD = "operator", "not-a-secret"  # IPMI passwords have at most 20 bytes
TEMPERATURE_C, FAN_RPM, POWER_W = 25, 4200, 180
CIPHER_SUITE = 3  # the strongest that the simulator knows
_SCRIPT = """\
#!/bin/sh
# The simulator calls it with `get NAME…` or `set NAME VALUE…`.
cd {folder} || exit 1
verb=$1; shift
while [ $# -gt 0 ]; do
    case $verb in
        get) [ -f "$1" ] || echo 0 >"$1"; echo "$1:$(cat "$1")"; shift ;;
        set) if [ "$1" = shutdown ]; then echo 0 >power; elif [ "$1" != reset ]; then echo "$2" >"$1"; fi; shift 2 ;;
    esac
done
"""
_LAN = """\
name "{name}"
set_working_mc 0x20
  startlan 1
    addr 127.0.0.1 {port}
    priv_limit admin
    allowed_auths_operator md5
    allowed_auths_admin md5
    guid a123456789abcdefa123456789abcdef
  endlan
  chassis_control "{folder}/chassis"
  user 1 false "" "" user 10 md5
  user 2 true "{user}" "{password}" operator 10 md5
"""
_BOARD = """\
mc_setbmc 0x20
mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02
sel_enable 0x20 1000 0x0a
mc_enable 0x20
"""


class IpmiMachine:
    def __init__(self, name: str, folder: Path, port: int) -> None:
        self.name, self.folder, self.address = name, folder, f"127.0.0.1:{port}"
        files = ("-c", str(folder / "lan.conf"), "-f", str(folder / "board.emu"), "-s", str(folder / "state"))
        self.daemon = Daemon("ipmi_sim", ["ipmi_sim", "-n", *files], folder)

    def bmc(self) -> dict[str, Any]:
        return {"ipmi": self.address, "user": USER, "password": PASSWORD, "cipher_suite": CIPHER_SUITE}

    def power(self) -> str:
        return "on" if (self.folder / "power").read_text().strip() == "1" else "off"

    def set_power(self, state: str) -> None:
        (self.folder / "power").write_text("1\n" if state == "on" else "0\n")


@contextmanager
def ipmi_machines(*names: str) -> Iterator[Sequence[IpmiMachine]]:
    skip_without("ipmi_sim", "ipmitool")
    with server_folder("ipmi") as folder, ExitStack() as started:
        machines = []
        for name, port in zip(names, free_ports(len(names)), strict=True):
            machine = _laid_out(name, folder / name, port)
            machine.daemon.start(lambda machine=machine: _answers(machine))  # type: ignore[misc]
            started.callback(machine.daemon.kill)  # it ends on no other signal
            machines.append(machine)
        yield machines


def _answers(machine: IpmiMachine) -> bool:
    host, _, port = machine.address.partition(":")
    words = ["ipmitool", "-I", "lanplus", "-C", str(CIPHER_SUITE), "-L", "OPERATOR", "-N", "1", "-R", "1"]
    words += ["-H", host, "-p", port, "-U", USER, "-P", PASSWORD, "chassis", "power", "status"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _laid_out(name: str, folder: Path, port: int) -> IpmiMachine:
    (folder / "state").mkdir(parents=True)
    (folder / "lan.conf").write_text(_LAN.format(name=name, port=port, folder=folder, user=USER, password=PASSWORD))
    script = folder / "chassis"
    script.write_text(_SCRIPT.format(folder=folder))
    script.chmod(0o755)
    sensors = (("CPU Temp", 1, 1, TEMPERATURE_C, 1), ("Fan 1", 4, 18, FAN_RPM, 100), ("Power", 0x0B, 6, POWER_W, 4))
    board = _BOARD
    for number, (label, sort, unit, value, step) in enumerate(sensors, 1):
        (folder / f"sensor{number}").write_text(f"{value // step}\n")
        board += f'sensor_add 0x20 0 {number} {sort} 1 poll 1000 file "{folder}/sensor{number}"\n'
        nothing = " ".join(["0" * 15] * 4)
        board += f"sensor_set_event_support 0x20 0 {number} enable scanning per-state {nothing}\n"
        record = " ".join(f"0x{byte:02x}" for byte in _full_record(number, label, sort, unit, step))
        board += f"main_sdr_add 0x20 {record}\n"
    (folder / "board.emu").write_text(board)
    machine = IpmiMachine(name, folder, port)
    machine.set_power("off")
    return machine


def _full_record(number: int, label: str, sort: int, unit: int, step: int) -> list[int]:
    """A sensor data record (IPMI 2.0, table 43-1): its readings are multiples of `step`."""
    body = [0x20, 0, number, 7, 1, 0x7F, 0x68, sort, 1, *[0] * 6, 0, unit, 0, 0, step & 0xFF, (step >> 8) << 6]
    body += [*[0] * 5, 0, 0, 0, 255, 0, *[0] * 6, 0, 0, 0, 0, 0]
    name = label.encode()
    body += [0xC0 | len(name), *name]
    return [0, 0, 0x51, 1, len(body), *body]
