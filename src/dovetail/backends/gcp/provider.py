"""Google Compute Engine as a provider of machines: each is an instance with a disk that goes with it.

Launching is idempotent by the request id and by the name. Google accepts an instance first and looks for a place in an
operation; a launch asks for that operation, without keeping a thread, until it has ended.
"""

import asyncio
import contextlib
import time
from functools import partial
from typing import Any

from dovetail.backends.cloud_catalogue.offered_types import ZONE, CatalogueView, offered_types
from dovetail.backends.cloud_catalogue.price_table import PricedType, price_table
from dovetail.backends.cloud_catalogue.selection import SpotUse
from dovetail.backends.gcp.connection import ONCE, GcpConnection
from dovetail.backends.gcp.errors import kind_of_answer, kind_of_code, reason_and_message, refusal
from dovetail.backends.gcp.instance_request import (
    instance_name,
    instance_request,
    machine_and_accelerator,
    request_id,
)
from dovetail.backends.gcp.preemptions import OPERATION, Preemptions, with_notice
from dovetail.backends.gcp.prices import live_prices
from dovetail.backends.gcp.quotas import quota_name
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.gcp.states import is_spot, machine_of
from dovetail.backends.machines.provider import (
    OWNER_TAG,
    ConsoleText,
    Launch,
    Machine,
    MachineType,
    RefusalKind,
)

PROVIDER = "gcp"
LOOK_S = 2.0
USER_DATA_BYTES = 256 * 1024  # of one value of the metadata
CONSOLE_BYTES = 256 * 1024  # the newest; Google keeps a megabyte


class GcpMachines:
    """Implements `dovetail.backends.machines.provider.MachineProvider`. `look_s`: between two looks at an operation."""

    def __init__(self, backend: str, settings: GcpSettings, look_s: float = LOOK_S) -> None:
        self._backend, self._settings, self._look_s = backend, settings, look_s
        self._connection = GcpConnection(settings)
        self._types: list[MachineType] = []
        self._preemptions = Preemptions()

    # --- what there is -----------------------------------------------------------------------------------------

    async def types(self) -> list[MachineType]:
        await self._connection.open()
        rows = [row for row in price_table(PROVIDER) if row.region in self._settings.regions]
        if self._settings.price_key is not None:
            rows = await live_prices(self._settings, rows)
        view = CatalogueView(
            rows, await self._zones_of_types(rows), quota=lambda row, spot: quota_name(row.region, row.type, spot)
        )
        self._types = offered_types(self._backend, view, self._settings)
        return self._types

    async def _zones_of_types(self, rows: list[PricedType]) -> dict[tuple[str, str], list[str]]:
        """A zone does not have all machines of its region."""
        zones = await self._connection.run(self._zones)
        wanted = [zone for zone in zones if self._settings.wants_zone(zone)]
        offered = await asyncio.gather(*(self._connection.run(partial(self._offered, zone)) for zone in wanted))
        found: dict[tuple[str, str], list[str]] = {}
        for zone, names in zip(wanted, offered, strict=True):
            for row in rows:
                machine, accelerator, _ = machine_and_accelerator(row.type)
                if zones[zone] == row.region and machine in names and (accelerator is None or accelerator in names):
                    found.setdefault((row.region, row.type), []).append(zone)
        return found

    def _zones(self) -> dict[str, str]:
        """The region of each zone that is up."""
        listed = self._connection.clients.zones.list(project=self._settings.project, **ONCE)
        found = {zone.name: zone.region.rsplit("/", 1)[-1] for zone in listed if zone.status == "UP"}
        return {zone: region for zone, region in found.items() if region in self._settings.regions}

    def _offered(self, zone: str) -> set[str]:
        """The types of machines and of accelerators in a zone."""
        clients, project = self._connection.clients, self._settings.project
        machines = {one.name for one in clients.machine_types.list(project=project, zone=zone, **ONCE)}
        return machines | {one.name for one in clients.accelerator_types.list(project=project, zone=zone, **ONCE)}

    async def machines(self, owner: str) -> list[Machine]:
        await self._connection.open()
        instances = await self._connection.run(lambda: self._listed(owner))
        machines = [machine_of(one) for one in instances]
        if self._settings.spot is SpotUse.NEVER:
            return machines
        spot = [machine for one, machine in zip(instances, machines, strict=True) if is_spot(one)]
        taken = await self._connection.run(self._preempted) if self._preemptions.suspects(spot) else set()
        ended = self._preemptions.take(spot, taken)
        return [with_notice(one, taken, time.time()) for one in machines] + ended

    def _listed(self, owner: str) -> list[Any]:
        request = {"project": self._settings.project, "filter": f'labels.{OWNER_TAG} = "{owner}"'}
        pages = self._connection.clients.instances.aggregated_list(request=request, **ONCE)
        return [instance for _, scope in pages for instance in scope.instances]

    def _preempted(self) -> set[str]:
        """The names of instances that were taken back lately."""
        request = {"project": self._settings.project, "filter": f'operationType = "{OPERATION}"'}
        pages = self._connection.clients.global_operations.aggregated_list(request=request, **ONCE)
        return {one.target_link.rsplit("/", 1)[-1] for _, scope in pages for one in scope.operations}

    # --- launching ---------------------------------------------------------------------------------------------

    async def launch(self, launch: Launch) -> Machine:
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import RefreshError

        await self._connection.open()
        try:
            return await self._launch(launch)
        except GoogleAPICallError as error:
            reason, message = reason_and_message(error)
            kind = kind_of_answer(int(error.code or 0), reason)
            if kind is None:
                raise
            raise refusal(kind, reason, message, launch.type, self._types) from error
        except RefreshError as error:  # the key is not accepted any more
            if error.retryable:
                raise
            raise refusal(RefusalKind.PERMISSION, "", str(error), launch.type, self._types) from error

    async def _launch(self, launch: Launch) -> Machine:
        from google.api_core.exceptions import Conflict

        zone = launch.type.node.labels[ZONE]
        try:
            operation = await self._connection.run(lambda: self._insert(launch, zone))
        except Conflict:
            pass  # it was made by a call whose answer was lost, longer ago than Google remembers requests
        else:
            await self._ended(operation, launch, zone)
        return await self._placed(launch, zone)

    def _insert(self, launch: Launch, zone: str) -> Any:
        request = {
            "project": self._settings.project,
            "zone": zone,
            "request_id": request_id(launch.token),
            "instance_resource": instance_request(self._settings, launch),
        }
        return self._connection.clients.instances.insert_unary(request=request, **ONCE)

    async def _ended(self, operation: Any, launch: Launch, zone: str) -> None:
        """Wait until the operation has ended. Raises LaunchRefused if it has failed."""
        clients, project = self._connection.clients, self._settings.project
        while _status(operation) != "DONE":
            await asyncio.sleep(self._look_s)
            request = {"project": project, "zone": zone, "operation": operation.name}
            operation = await self._connection.run(partial(clients.zone_operations.get, request=request, **ONCE))
        errors = list(operation.error.errors)
        if errors:
            code, message = str(errors[0].code), " ".join(str(errors[0].message).split())
            raise refusal(kind_of_code(code), code, message, launch.type, self._types)

    async def _placed(self, launch: Launch, zone: str) -> Machine:
        """Wait until it has a place; it has one as soon as it is no longer provisioned."""
        from google.api_core.exceptions import NotFound

        clients, project = self._connection.clients, self._settings.project
        request = {"project": project, "zone": zone, "instance": instance_name(launch.token)}
        while True:
            try:
                found = await self._connection.run(lambda: clients.instances.get(request=request, **ONCE))
            except NotFound:
                words = f"Google took {request['instance']} back while it was launched"
                raise refusal(RefusalKind.STOCK_OUT, "", words, launch.type, self._types) from None
            if found.status not in ("PENDING", "PROVISIONING"):
                return machine_of(found)
            await asyncio.sleep(self._look_s)

    # --- consoles ----------------------------------------------------------------------------------------------

    @property
    def user_data_bytes(self) -> int:
        return USER_DATA_BYTES

    async def console(self, machine: Machine) -> ConsoleText:
        from google.api_core.exceptions import NotFound

        await self._connection.open()
        zone, _, name = machine.id.partition("/")
        request = {"project": self._settings.project, "zone": zone, "instance": name, "start": -CONSOLE_BYTES}
        clients = self._connection.clients
        ask = partial(clients.instances.get_serial_port_output, request=request, **ONCE)
        try:
            return ConsoleText(str((await self._connection.run(ask)).contents))
        except NotFound:  # it goes with its machine
            return ConsoleText("")

    # --- ending ------------------------------------------------------------------------------------------------

    async def end(self, machine: Machine) -> None:
        await self._connection.open()
        await self._connection.run(lambda: self._delete(machine))

    def _delete(self, machine: Machine) -> None:
        from google.api_core.exceptions import NotFound

        zone, _, name = machine.id.partition("/")
        request = {"project": self._settings.project, "zone": zone, "instance": name}
        with contextlib.suppress(NotFound):
            self._connection.clients.instances.delete_unary(request=request, **ONCE)

    async def close(self) -> None:
        await self._connection.close()


def _status(operation: Any) -> str:
    """The SDK gives an enum or its name."""
    return str(getattr(operation.status, "name", operation.status))
