"""Azure as a provider of machines: each is a virtual machine in one resource group, with its disk and its interface.

Launching is idempotent by name: the machine is made only if none of that name exists. Azure accepts a machine first and
looks for a place afterwards, so a launch waits, without keeping a thread, until there is one. What a failed launch has
left is removed with it; what is left all the same is shown as a stopped machine, so that the fleet reaps it.
"""

import asyncio
import contextlib
import time
from collections import deque
from functools import partial
from typing import Any

from dovetail.backends.azure.connection import AzureConnection
from dovetail.backends.azure.errors import code_and_message, kind_of, refusal
from dovetail.backends.azure.prices import live_prices
from dovetail.backends.azure.quotas import quota_name
from dovetail.backends.azure.serial_log import serial_log
from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.azure.sizes import usable_zones
from dovetail.backends.azure.states import machine_of, power_state, provisioning_failure
from dovetail.backends.azure.vm_request import key_that_nobody_has, vm_name, vm_request
from dovetail.backends.cloud_catalogue.offered_types import CatalogueView, offered_types
from dovetail.backends.cloud_catalogue.price_table import PricedType, price_table
from dovetail.backends.machines.provider import (
    LAUNCH_TAG,
    NODE_TAG,
    OWNER_TAG,
    ConsoleText,
    Launch,
    Machine,
    MachineState,
    MachineType,
    RefusalKind,
)

PROVIDER = "azure"
LOOK_S = 2.0
PLACED_WITHIN_S = 600.0
#: The power state of a machine is a question of its own; so many are asked with each list, in turn.
POWER_STATES_A_LIST = 5
PRECONDITION_FAILED = 412
USER_DATA_BYTES = 48 * 1024  # 64 KiB of base64
LEFT_OVER = "left-over/"


class AzureMachines:
    """Implements `dovetail.backends.machines.provider.MachineProvider`. `look_s`: between two looks at a machine that
    is being launched."""

    def __init__(self, backend: str, settings: AzureSettings, look_s: float = LOOK_S) -> None:
        self._backend, self._settings, self._look_s = backend, settings, look_s
        self._connection = AzureConnection(settings)
        self._types: list[MachineType] = []
        self._power: dict[str, str | None] = {}  # as last asked, by the name of the machine
        self._to_ask: deque[str] = deque()

    # --- what there is -----------------------------------------------------------------------------------------

    async def types(self) -> list[MachineType]:
        await self._connection.open()
        rows = list(price_table(PROVIDER))
        if self._settings.live_prices:
            rows = await live_prices(self._settings, rows)
        rows = [row for row in rows if row.region in self._settings.regions]
        zones = await self._zones_of_sizes(rows)
        view = CatalogueView(rows, zones, quota=lambda row, spot: quota_name(row.region, row.type, spot))
        self._types = offered_types(self._backend, view, self._settings)
        return self._types

    async def _zones_of_sizes(self, rows: list[PricedType]) -> dict[tuple[str, str], list[str]]:
        """Those of the settings; if Azure is asked, without those where the subscription may not have the size."""
        usable: dict[str, dict[str, set[str] | None]] = {}
        if self._settings.check_sizes:
            for region in self._settings.regions:
                usable[region] = await self._connection.run(partial(self._usable, region))
        found: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            numbers = self._settings.networks[row.region].zones
            if row.region in usable:
                if row.type not in usable[row.region]:
                    continue
                there = usable[row.region][row.type] or set()
                zones = [number for number in numbers if number in there]
            else:
                zones = numbers
            places = [f"{row.region}-{number}" for number in zones]
            found[row.region, row.type] = places if numbers else [row.region]
        return found

    def _usable(self, region: str) -> dict[str, set[str] | None]:
        skus = self._connection.compute.resource_skus.list(filter=f"location eq '{region}'")
        return usable_zones(skus, region)

    async def machines(self, owner: str) -> list[Machine]:
        await self._connection.open()
        group, compute, network = self._settings.resource_group, self._connection.compute, self._connection.network
        run = self._connection.run
        vms, interfaces, disks, public = await asyncio.gather(
            run(lambda: _marked(compute.virtual_machines.list(group), owner)),
            run(lambda: _marked(network.network_interfaces.list(group), owner)),
            run(lambda: _marked(compute.disks.list_by_resource_group(group), owner)),
            run(
                lambda: _marked(network.public_ip_addresses.list(group) if self._settings.public_address else [], owner)
            ),
        )
        await self._ask_power_states([str(vm.name) for vm in vms])
        addresses = {str(one.id).lower(): _address(one) for one in interfaces}
        machines = [machine_of(vm, self._power.get(vm.name), addresses) for vm in vms]
        return machines + _left_over({one.token for one in machines}, [*interfaces, *disks, *public])

    async def _ask_power_states(self, names: list[str]) -> None:
        self._power = {name: self._power.get(name) for name in names}
        waiting = set(self._to_ask)
        self._to_ask = deque(name for name in self._to_ask if name in self._power)
        self._to_ask.extend(name for name in names if name not in waiting)
        asked = [self._to_ask.popleft() for _ in range(min(POWER_STATES_A_LIST, len(self._to_ask)))]
        for name, found in zip(asked, await asyncio.gather(*map(self._look, asked)), strict=True):
            if found is not None:
                self._power[name] = power_state(_statuses(found))

    # --- launching ---------------------------------------------------------------------------------------------

    async def launch(self, launch: Launch) -> Machine:
        from azure.core.exceptions import ClientAuthenticationError, HttpResponseError

        await self._connection.open()
        try:
            if await self._look(vm_name(launch.token)) is None:
                await self._create(launch)
            return await self._placed(launch)
        except (HttpResponseError, ClientAuthenticationError) as error:
            code, message = code_and_message(error)
            status = getattr(error, "status_code", None) or 0
            kind = RefusalKind.PERMISSION if isinstance(error, ClientAuthenticationError) else None
            kind = kind or kind_of(code, message, status)
            if kind is None:
                raise
            raise refusal(kind, code, message, launch.type, self._types) from error

    async def _create(self, launch: Launch) -> None:
        """Only if there is none of that name: another script would be refused, and the first one is as good."""
        from azure.core import MatchConditions
        from azure.core.exceptions import HttpResponseError

        body = vm_request(self._settings, launch, self._settings.ssh_key or key_that_nobody_has())
        group, machines = self._settings.resource_group, self._connection.compute.virtual_machines

        def create() -> None:
            machines.begin_create_or_update(
                group, vm_name(launch.token), body, match_condition=MatchConditions.IfMissing, polling=False
            )

        try:
            await self._connection.run(create)
        except HttpResponseError as error:
            if error.status_code != PRECONDITION_FAILED:
                raise
            # It was made a moment ago, by a call whose answer was lost.

    async def _placed(self, launch: Launch) -> Machine:
        """Wait until it has a place. Raises LaunchRefused if there is none."""
        name, until = vm_name(launch.token), time.monotonic() + PLACED_WITHIN_S
        while True:
            vm = await self._look(name)
            if vm is None:
                raise ConnectionError(f"Azure does not show the machine {name} that it has accepted")
            machine = machine_of(vm, power_state(_statuses(vm)), {})
            if machine.state is MachineState.RUNNING:
                return machine
            if machine.state is MachineState.ENDING:
                raise refusal(RefusalKind.STOCK_OUT, "", f"{name} is being deleted", launch.type, self._types)
            if machine.state is MachineState.STOPPED:
                code, message = provisioning_failure(_statuses(vm))
                await self.end(machine)
                kind = kind_of(code, message, 0) or RefusalKind.STOCK_OUT
                raise refusal(kind, code, message, launch.type, self._types)
            if time.monotonic() > until:
                await self.end(machine)
                words = f"Azure has found no place for {name} in {PLACED_WITHIN_S:g} s"
                raise refusal(RefusalKind.STOCK_OUT, "", words, launch.type, self._types)
            await asyncio.sleep(self._look_s)

    async def _look(self, name: str) -> Any:
        """The virtual machine with its instance view, or None."""
        from azure.core.exceptions import ResourceNotFoundError

        group, machines = self._settings.resource_group, self._connection.compute.virtual_machines
        try:
            return await self._connection.run(lambda: machines.get(group, name, expand="instanceView"))
        except ResourceNotFoundError as error:
            if code_and_message(error)[0] in ("ResourceNotFound", "NotFound", ""):
                return None
            raise  # the resource group, or the subscription, is not there

    # --- consoles ----------------------------------------------------------------------------------------------

    @property
    def user_data_bytes(self) -> int:
        return USER_DATA_BYTES

    async def console(self, machine: Machine) -> ConsoleText:
        """Azure answers with an address, good for a while, at which the text lies."""
        from azure.core.exceptions import ResourceNotFoundError

        await self._connection.open()
        group, machines = self._settings.resource_group, self._connection.compute.virtual_machines
        try:
            found = await self._connection.run(lambda: machines.retrieve_boot_diagnostics_data(group, machine.id))
        except ResourceNotFoundError:  # it goes with its machine
            return ConsoleText("")
        address = found.serial_console_log_blob_uri
        return ConsoleText("" if not address else await serial_log(str(address), self._settings.ca))

    # --- ending ------------------------------------------------------------------------------------------------

    async def end(self, machine: Machine) -> None:
        await self._connection.open()
        group, machines = self._settings.resource_group, self._connection.compute.virtual_machines
        if machine.id.startswith(LEFT_OVER):
            await self._remove_left_over(machine.id.removeprefix(LEFT_OVER))
            return
        await self._connection.run(lambda: _gone_is_fine(machines.begin_delete, group, machine.id))

    async def _remove_left_over(self, token: str) -> None:
        """What is still attached to something goes the next time: an address cannot go before its interface."""
        group, compute, network = self._settings.resource_group, self._connection.compute, self._connection.network
        for listed, delete in (
            (network.network_interfaces.list, network.network_interfaces.begin_delete),
            (compute.disks.list_by_resource_group, compute.disks.begin_delete),
            (network.public_ip_addresses.list, network.public_ip_addresses.begin_delete),
        ):
            await self._connection.run(partial(_delete_marked, listed, delete, group, token))

    async def close(self) -> None:
        await self._connection.close()


def _marked(listed: Any, owner: str) -> list[Any]:
    return [one for one in listed if (one.tags or {}).get(OWNER_TAG) == owner]


def _statuses(vm: Any) -> Any:
    return vm.instance_view.statuses if vm.instance_view else None


def _address(interface: Any) -> str:
    return next(
        (str(one.private_ip_address) for one in interface.ip_configurations or [] if one.private_ip_address), ""
    )


def _left_over(tokens: set[str], parts: list[Any]) -> list[Machine]:
    """Interfaces and disks whose machine is not there. Their token is not shown: they are no machine of a node."""
    found = {}
    for one in parts:
        token = one.tags.get(LAUNCH_TAG, "")
        if token and token not in tokens and not _is_used(one):
            name = f"{LEFT_OVER}{token}"
            node = one.tags.get(NODE_TAG, "")
            found[name] = Machine(name, node, "", MachineState.STOPPED, reason="its virtual machine is gone")
    return list(found.values())


def _is_used(part: Any) -> bool:
    """By a machine, or an address by an interface."""
    return any(getattr(part, name, None) for name in ("virtual_machine", "managed_by", "ip_configuration"))


def _delete_marked(listed: Any, delete: Any, group: str, token: str) -> None:
    for one in listed(group):
        if (one.tags or {}).get(LAUNCH_TAG) == token and not _is_used(one):
            _gone_is_fine(delete, group, one.name)


def _gone_is_fine(delete: Any, group: str, name: str) -> None:
    from azure.core.exceptions import ResourceNotFoundError

    with contextlib.suppress(ResourceNotFoundError):
        delete(group, name, polling=False)
