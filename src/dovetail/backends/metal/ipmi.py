"""A management controller that speaks IPMI over LAN, asked with ipmitool.

A process for each call: one that hangs is killed, and touches no other controller. pyghmi was tried with OpenIPMI's
simulator and is not used: a login took 0.9 s where a whole call of ipmitool took 0.08 s, and it did not read back the
boot device.
"""

import asyncio
import contextlib
import os
from collections.abc import Iterator
from math import isfinite

from dovetail.backends.metal.controller import (
    SLOW_TIMES,
    BmcTrouble,
    BootDevice,
    HardwareInventory,
    PowerAction,
    PowerState,
    SensorReading,
    TroubleKind,
)
from dovetail.backends.metal.settings import BmcSettings, ipmi_address

_ACTIONS = {
    PowerAction.ON: "on",
    PowerAction.OFF: "off",
    PowerAction.SHUTDOWN: "soft",
    PowerAction.CYCLE: "cycle",
    PowerAction.RESET: "reset",
}
_BOOT = {
    BootDevice.DISK: ("disk", "Force Boot from default Hard-Drive"),
    BootDevice.NETWORK: ("pxe", "Force PXE"),
    BootDevice.CDROM: ("cdrom", "Force Boot from CD/DVD"),
    BootDevice.SETUP: ("bios", "Force Boot into BIOS Setup"),
    BootDevice.DEFAULT: ("none", "No override"),
}
_UNITS = {
    "degrees C": ("temperature", "C"),
    "RPM": ("fan", "RPM"),
    "percent": ("fan", "%"),
    "Watts": ("power", "W"),
    "Volts": ("other", "V"),
    "Amps": ("other", "A"),
}
_HEALTH = {"ok": "ok", "nc": "warning", "cr": "critical", "nr": "critical"}
_NO_SESSION = "Unable to establish"


class IpmiController:
    """Implements `dovetail.backends.metal.controller.ManagementController`."""

    def __init__(self, settings: BmcSettings, answer_within_s: float, program: str = "ipmitool") -> None:
        assert settings.ipmi is not None
        self._settings, self._within_s = settings, answer_within_s
        host, port = ipmi_address(settings.ipmi)
        # -E reads the password from the environment: others can read a command line. -R and -N: the deadline counts.
        self._command = [program, "-I", "lanplus", "-C", str(settings.cipher_suite), "-L", "OPERATOR", "-E"]
        self._command += ["-H", host, "-p", str(port), "-U", settings.user, "-N", "1", "-R", "20"]

    async def power(self) -> PowerState:
        said = (await self._ask("chassis", "power", "status")).strip()
        for state in PowerState:
            if said.endswith(f"Chassis Power is {state}"):
                return state
        raise BmcTrouble(TroubleKind.NONSENSE, f"{self._name} says the power state {said[:100]!r}")

    async def act(self, action: PowerAction) -> None:
        await self._ask("chassis", "power", _ACTIONS[action])

    async def boot_device(self) -> BootDevice | None:
        said = await self._ask("chassis", "bootparam", "get", "5")
        return next((device for device, (_, words) in _BOOT.items() if words in said), None)

    async def set_boot_device(self, device: BootDevice, *, once: bool) -> None:
        options = [] if once else ["options=persistent"]
        await self._ask("chassis", "bootdev", _BOOT[device][0], *options)

    async def sensors(self) -> list[SensorReading]:
        return list(sensor_readings(await self._ask("-c", "sdr", "list", "full", times=SLOW_TIMES)))

    async def inventory(self) -> HardwareInventory:
        """IPMI knows the board and the firmware, not what the machine has."""
        firmware = _facts(await self._ask("mc", "info")).get("Firmware Revision", "")
        try:
            board = _facts(await self._ask("fru", "print", "0", times=SLOW_TIMES))
        except BmcTrouble as trouble:
            if trouble.kind is not TroubleKind.REFUSED:
                raise
            board = {}  # it has no such record
        return HardwareInventory(
            manufacturer=board.get("Product Manufacturer", board.get("Board Mfg", "")),
            model=board.get("Product Name", board.get("Board Product", "")),
            serial=board.get("Product Serial", board.get("Board Serial", "")),
            firmware={"bmc": firmware} if firmware else {},
        )

    async def close(self) -> None:
        pass

    @property
    def _name(self) -> str:
        return f"the controller {self._settings.address}"

    async def _ask(self, *words: str, times: float = 1.0) -> str:
        """What it prints. `times`: it may take so many times as long as other calls."""
        within_s = self._within_s * times
        try:
            async with asyncio.timeout(within_s):
                return await self._run(words)
        except TimeoutError:
            late = f"{self._name} did not answer within {within_s:g} s"
            raise BmcTrouble(TroubleKind.UNREACHABLE, late) from None
        except OSError as error:
            raise BmcTrouble(TroubleKind.UNREACHABLE, f"{self._command[0]} cannot be started: {error}") from None

    async def _run(self, words: tuple[str, ...]) -> str:
        environment = {**os.environ, "IPMI_PASSWORD": self._settings.password.get_secret_value(), "LC_ALL": "C"}
        process = await asyncio.create_subprocess_exec(
            *self._command,
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
        )
        try:
            said, complained = await process.communicate()
        finally:
            if process.returncode is None:  # it hangs
                process.kill()
                await process.wait()
        if process.returncode == 0:
            return said.decode(errors="replace")
        complaint = " ".join(complained.decode(errors="replace").split())[-300:]
        if _NO_SESSION in complaint:
            doubt = f"it is away, or refuses the login of {self._settings.user} or cipher suite"
            words_ = f"{self._name} opens no session: {doubt} {self._settings.cipher_suite}"
            raise BmcTrouble(TroubleKind.LOGIN, words_)
        raise BmcTrouble(TroubleKind.REFUSED, f"{self._name} refuses it: {complaint}")


def sensor_readings(text: str) -> Iterator[SensorReading]:
    """Of `ipmitool -c sdr`: name, value, unit, status."""
    for line in text.splitlines():
        name, *rest = (part.strip() for part in line.split(","))
        if len(rest) < 3 or not name:
            continue
        value, unit, status = rest[:3]
        sort, short = _UNITS.get(unit, ("other", unit))
        number: float | None = None
        with contextlib.suppress(ValueError):
            number = float(value) if isfinite(float(value)) else None
        yield SensorReading(name, sort, number, short, _HEALTH.get(status, ""))


def _facts(text: str) -> dict[str, str]:
    """Lines `name : value`."""
    pairs = (line.partition(" : ") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and value.strip()}
