"""The provider of machines for EC2: which types there are, launching, listing and ending instances.

Guarantees: an instance has its marks from the first moment. A launch that is repeated finds the instance of the first
one, by its client token and by its mark. Nothing is done to instances without our mark.
"""

import asyncio
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from dovetail.backends.cloud_catalogue.offered_types import REGION
from dovetail.backends.ec2.clients import Ec2Clients
from dovetail.backends.ec2.errors import refusal_of
from dovetail.backends.ec2.images import Ec2Images
from dovetail.backends.ec2.instances import machine_of, with_notices
from dovetail.backends.ec2.launching import run_request
from dovetail.backends.ec2.offers import read_region, types_of
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.machines.provider import (
    LAUNCH_TAG,
    OWNER_TAG,
    ConsoleText,
    Launch,
    Machine,
    MachineState,
    MachineType,
)

_GONE = "InvalidInstanceID.NotFound"
USER_DATA_BYTES = 16 * 1024


class Ec2Provider:
    """Implements `dovetail.backends.machines.provider.MachineProvider`. `name`: of the backend."""

    def __init__(self, name: str, settings: Ec2Settings) -> None:
        self._name, self._settings = name, settings
        self._aws = Ec2Clients(settings, name)
        self._images = Ec2Images(self._aws, settings)
        self._offered: list[MachineType] = []
        self._regions: dict[str, str] = {}  # of each instance that was seen

    @property
    def user_data_bytes(self) -> int:
        return USER_DATA_BYTES

    async def types(self) -> list[MachineType]:
        reads = [self._aws.run(read_region, self._aws, each, self._settings, self._name) for each in self._all_regions]
        self._offered = types_of(self._name, await asyncio.gather(*reads), self._settings)
        return self._offered

    async def machines(self, owner: str) -> list[Machine]:
        found = await asyncio.gather(*(self._aws.run(self._read, each, owner) for each in self._all_regions))
        return [machine for machines in found for machine in machines]

    async def launch(self, launch: Launch) -> Machine:
        region = launch.type.node.labels[REGION]
        try:
            machine = await self._aws.run(self._launch, region, launch)
        except ClientError as error:
            code, words = _code(error), str(error.response.get("Error", {}).get("Message", ""))
            refusal = refusal_of(code, words, launch.type, self._offered)
            if refusal is not None:
                raise refusal from error
            raise
        self._regions[machine.id] = region
        return machine

    async def end(self, machine: Machine) -> None:
        if machine.state is MachineState.ENDED:
            return
        await self._aws.run(self._end, machine)

    async def console(self, machine: Machine) -> ConsoleText:
        return await self._aws.run(self._console, machine)

    async def close(self) -> None:
        self._aws.close()

    # --- in threads --------------------------------------------------------------------------------------------

    @property
    def _all_regions(self) -> list[str]:
        return list(dict.fromkeys(self._settings.regions))

    def _read(self, region: str, owner: str) -> list[Machine]:
        instances = self._find(region, {f"tag:{OWNER_TAG}": owner})
        machines = [machine_of(one) for one in instances]
        self._regions.update(dict.fromkeys((one.id for one in machines), region))
        spot = [one["InstanceId"] for one in instances if one.get("InstanceLifecycle") == "spot"]
        if not spot:
            return machines
        filters = [{"Name": f"tag:{OWNER_TAG}", "Values": [owner]}]
        pages = self._aws.ec2(region).get_paginator("describe_spot_instance_requests").paginate(Filters=filters)
        return with_notices(machines, [one for page in pages for one in page["SpotInstanceRequests"]])

    def _find(self, region: str, wanted: dict[str, str]) -> list[dict[str, Any]]:
        filters = [{"Name": name, "Values": [value]} for name, value in wanted.items()]
        pages = self._aws.ec2(region).get_paginator("describe_instances").paginate(Filters=filters)
        return [one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]]

    def _launch(self, region: str, launch: Launch) -> Machine:
        known = self._find(region, {f"tag:{OWNER_TAG}": launch.owner, f"tag:{LAUNCH_TAG}": launch.token})
        if known:
            return machine_of(known[0])
        image, device = self._images.find(region)
        request = run_request(launch, self._settings, image, device)
        made = self._aws.ec2_once(region).run_instances(**request)
        return machine_of(made["Instances"][0])

    def _regions_of(self, machine: Machine) -> list[str]:
        return [self._regions[machine.id]] if machine.id in self._regions else self._all_regions

    def _console(self, machine: Machine) -> ConsoleText:
        """As it is now, which instances on Nitro show; others show it only after they have ended."""
        for region in self._regions_of(machine):
            ask = partial(self._aws.ec2(region).get_console_output, InstanceId=machine.id)
            try:
                return ConsoleText(ask(Latest=True).get("Output", ""))
            except ClientError as error:
                if _code(error) == _GONE:
                    continue
            return ConsoleText(ask().get("Output", ""), live=False)
        return ConsoleText("")

    def _end(self, machine: Machine) -> None:
        for region in self._regions_of(machine):
            try:
                self._aws.ec2(region).terminate_instances(InstanceIds=[machine.id])
            except ClientError as error:
                if _code(error) != _GONE:
                    raise
            else:
                return


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
