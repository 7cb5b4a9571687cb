"""A management controller that speaks Redfish, asked with sushy.

sushy blocks, so each controller has a thread for its calls (`one_call`). After any trouble the next call connects anew.
"""

import contextlib
from collections.abc import Callable, Iterator
from math import isfinite
from typing import Any, TypeVar

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
from dovetail.backends.metal.one_call import OneCall
from dovetail.backends.metal.redfish_inventory import inventory_of
from dovetail.backends.metal.settings import BmcSettings

T = TypeVar("T")
_BOOT = {
    BootDevice.DISK: "Hdd",
    BootDevice.NETWORK: "Pxe",
    BootDevice.CDROM: "Cd",
    BootDevice.SETUP: "BiosSetup",
    BootDevice.DEFAULT: "None",
}
#: What to ask for, best first: controllers know different ones.
_RESETS = {
    PowerAction.ON: ("On", "ForceOn"),
    PowerAction.OFF: ("ForceOff",),
    PowerAction.SHUTDOWN: ("GracefulShutdown", "PushPowerButton"),
    PowerAction.CYCLE: ("PowerCycle", "ForceRestart"),
    PowerAction.RESET: ("ForceRestart", "GracefulRestart"),
}
_ON, _OFF = ("On", "PoweringOff"), ("Off", "PoweringOn")  # what is under way is not done


class RedfishController:
    """Implements `dovetail.backends.metal.controller.ManagementController`. Slow questions have a session of their own:
    whether the power is on can be asked meanwhile."""

    def __init__(self, settings: BmcSettings, answer_within_s: float) -> None:
        self._quick = _RedfishSession(settings, answer_within_s)
        self._slow = _RedfishSession(settings, answer_within_s * SLOW_TIMES)

    async def power(self) -> PowerState:
        def ask() -> PowerState:
            found = self._quick.system().json.get("PowerState")
            if found in _ON:
                return PowerState.ON
            if found in _OFF:
                return PowerState.OFF
            words = f"{self._quick.name} says the power state {str(found)[:100]!r}"
            raise BmcTrouble(TroubleKind.NONSENSE, words)

        return await self._quick.ask(ask)

    async def act(self, action: PowerAction) -> None:
        def ask() -> None:
            from sushy import ResetType

            system = self._quick.system()
            known = {one.value for one in system.get_allowed_reset_system_values()}
            wanted = next((one for one in _RESETS[action] if one in known), None)
            if wanted is None:
                words = f"{self._quick.name} cannot do {action}; it can do {', '.join(sorted(known))}"
                raise BmcTrouble(TroubleKind.REFUSED, words)
            system.reset_system(ResetType(wanted))

        await self._quick.ask(ask)

    async def boot_device(self) -> BootDevice | None:
        def ask() -> BootDevice | None:
            boot = self._quick.system().json.get("Boot") or {}
            if boot.get("BootSourceOverrideEnabled") == "Disabled":
                return BootDevice.DEFAULT
            found = boot.get("BootSourceOverrideTarget")
            return next((device for device, word in _BOOT.items() if word == found), None)

        return await self._quick.ask(ask)

    async def set_boot_device(self, device: BootDevice, *, once: bool) -> None:
        def ask() -> None:
            from sushy import BootSource, BootSourceOverrideEnabled

            enabled = BootSourceOverrideEnabled.ONCE if once else BootSourceOverrideEnabled.CONTINUOUS
            if device is BootDevice.DEFAULT:
                enabled = BootSourceOverrideEnabled.DISABLED
            self._quick.system().set_system_boot_options(BootSource(_BOOT[device]), enabled)

        await self._quick.ask(ask)

    async def sensors(self) -> list[SensorReading]:
        return await self._slow.ask(lambda: list(_readings(self._slow.system())))

    async def inventory(self) -> HardwareInventory:
        return await self._slow.ask(lambda: inventory_of(self._slow.system()))

    async def close(self) -> None:
        await self._quick.close()
        await self._slow.close()


class _RedfishSession:
    """A login. Calls run on a thread, one at a time; after any trouble the next one logs in again."""

    def __init__(self, settings: BmcSettings, within_s: float) -> None:
        self._settings = settings
        self._calls = OneCall(within_s)
        self._root: Any = None
        self._system: Any = None

    @property
    def name(self) -> str:
        return f"the controller {self._settings.address}"

    async def ask(self, call: Callable[[], T]) -> T:
        try:
            return await self._calls.run(call)
        except BmcTrouble:
            self._system = None
            raise
        except TimeoutError:
            words = f"{self.name} did not answer within {self._calls.within_s:g} s"
            raise BmcTrouble(TroubleKind.UNREACHABLE, words) from None
        except Exception as error:
            self._system = None
            raise self._trouble(error) from error

    async def close(self) -> None:
        root, self._root, self._system = self._root, None, None
        if root is not None and (auth := getattr(root, "_auth", None)) is not None:
            with contextlib.suppress(Exception):  # a session ends by itself
                await self._calls.run(auth.close)

    def system(self) -> Any:
        """sushy's system, read again. Called on the thread."""
        if self._system is not None:
            self._system.refresh(force=True)
            return self._system
        import sushy

        settings = self._settings
        self._root = sushy.Sushy(
            settings.redfish,
            username=settings.user,
            password=settings.password.get_secret_value(),
            verify=settings.ca or settings.verify,
            server_side_retries=1,  # 0 would mean three, with pauses
            server_side_retries_delay=1,
            read_timeout=self._calls.within_s,
            connect_timeout=self._calls.within_s,
        )
        path = settings.system
        if path is None:
            paths = list(self._root.get_system_collection().members_identities)
            if len(paths) != 1:
                words = f"{self.name} has {len(paths)} systems: set bmc.system to one of {', '.join(paths[:5])}"
                raise BmcTrouble(TroubleKind.REFUSED, words)
            path = paths[0]
        self._system = self._root.get_system(path)
        return self._system

    def _trouble(self, error: Exception) -> BmcTrouble:
        from sushy import exceptions

        words = " ".join(str(error).split())[:300]
        if isinstance(error, exceptions.AccessError):
            user = self._settings.user
            return BmcTrouble(TroubleKind.LOGIN, f"{self.name} refuses the login of {user}: check user and password")
        if isinstance(error, exceptions.ConnectionError):
            return BmcTrouble(TroubleKind.UNREACHABLE, f"{self.name} cannot be reached: {words}")
        if isinstance(error, exceptions.ServerSideError):
            return BmcTrouble(TroubleKind.NONSENSE, f"{self.name} fails: {words}")
        if isinstance(error, exceptions.InvalidParameterValueError | exceptions.HTTPError):
            return BmcTrouble(TroubleKind.REFUSED, f"{self.name} refuses it: {words}")
        return BmcTrouble(TroubleKind.NONSENSE, f"{self.name} answers nonsense: {type(error).__name__}: {words}")


def _readings(system: Any) -> Iterator[SensorReading]:
    for chassis in system.chassis:
        thermal = _part(chassis, "thermal")
        for one in thermal.get("Temperatures") or []:
            yield _reading(one, "temperature", one.get("ReadingCelsius"), "C")
        for one in thermal.get("Fans") or []:
            unit = "%" if one.get("ReadingUnits") == "Percent" else "RPM"
            yield _reading(one, "fan", one.get("Reading"), unit)
        power = _part(chassis, "power")
        for one in power.get("PowerControl") or []:
            yield _reading(one, "power", one.get("PowerConsumedWatts"), "W")
        for one in power.get("PowerSupplies") or []:
            yield _reading(one, "power", one.get("LastPowerOutputWatts"), "W")


def _part(chassis: Any, name: str) -> dict[str, Any]:
    """A page that a controller need not have."""
    from sushy import exceptions

    try:
        found = getattr(chassis, name).json
    except (exceptions.ResourceNotFoundError, exceptions.MissingAttributeError, exceptions.ServerSideError):
        return {}
    return found if isinstance(found, dict) else {}


def _reading(one: dict[str, Any], sort: str, value: Any, unit: str) -> SensorReading:
    known = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    number = float(value) if known else None
    health = (one.get("Status") or {}).get("Health") or ""
    return SensorReading(str(one.get("Name") or one.get("MemberId") or sort), sort, number, unit, str(health).lower())
