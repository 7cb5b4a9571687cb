"""`dovetail metal`: machines with management controllers: list and inspect them, change their power."""

import time
from enum import StrEnum
from typing import Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Url, check_name, connect

command = default_group("Bare metal: `metal` alone lists the machines, `metal NAME` shows one.")

MachineName = Annotated[str, Argument(metavar="MACHINE", callback=check_name, help="The machine.")]
Force = Annotated[bool, Option("--force", help="Even while work runs there: it is lost and placed again.")]


class BootDeviceName(StrEnum):
    DISK = "disk"
    NETWORK = "network"
    CDROM = "cdrom"
    SETUP = "setup"
    DEFAULT = "default"


@command.action("list")
def list_machines(output: Output = Format.TABLE, url: Url = None) -> None:
    """Every machine: its rack, whether it is on, and what is wrong with its controller. `dovetail metal` does this."""
    with connect(url) as client:
        rows = client.metal_machines()
    show(rows, output, lambda wide: render.metal.machine_list(rows, time.time(), wide))


@command.action("show")
def show_machine(name: MachineName, output: Output = Format.TABLE, url: Url = None) -> None:
    """One machine, with what its controller says that it has."""
    with connect(url) as client:
        row = client.metal_machine(name)
    show(row, output, lambda _: render.metal.one_machine(row, time.time()))


@command.action("on")
def power_on(name: MachineName, output: Output = Format.TABLE, url: Url = None) -> None:
    """Power a machine on. Without work it is powered off again after its idle time."""
    _change(name, "on", output, url)


@command.action("off")
def power_off(
    name: MachineName,
    force: Force = False,
    cut: Annotated[bool, Option("--cut", help="Cut the power; do not ask its operating system.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Shut a machine down and power it off. Refused while work runs there, unless --force."""
    _change(name, "off" if cut else "shutdown", output, url, force=force)


@command.action("cycle")
def cycle(name: MachineName, force: Force = False, output: Output = Format.TABLE, url: Url = None) -> None:
    """Cut the power of a machine for a moment. Refused while work runs there, unless --force."""
    _change(name, "cycle", output, url, force=force)


@command.action("reset")
def reset(name: MachineName, force: Force = False, output: Output = Format.TABLE, url: Url = None) -> None:
    """Restart a machine, with its power on. Refused while work runs there, unless --force."""
    _change(name, "reset", output, url, force=force)


@command.action("boot-device")
def boot_device(
    name: MachineName,
    device: Annotated[BootDeviceName, Argument(metavar="DEVICE", help="disk, network, cdrom, setup or default.")],
    always: Annotated[bool, Option("--always", help="From now on, not only the next time.")] = False,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Say from what a machine boots the next time."""
    with connect(url) as client:
        made = client.metal_boot_device(name, device.value, once=not always)
    show(made, output, lambda _: f"{name} boots from {made['device']} {'the next time' if made['once'] else 'always'}")


@command.action("sensors")
def sensors(name: MachineName, output: Output = Format.TABLE, url: Url = None) -> None:
    """Temperatures, fans and power of a machine, as its controller reads them now."""
    with connect(url) as client:
        rows = client.metal_sensors(name)
    show(rows, output, lambda wide: render.metal.sensor_list(name, rows, wide))


@command.action("savings")
def savings(output: Output = Format.TABLE, url: Url = None) -> None:
    """What machines did not use while they were off: hours, kWh, and money and CO2 where the settings say how much."""
    with connect(url) as client:
        found = client.metal_savings()
    show(found, output, lambda wide: render.metal.savings(found, wide))


def _change(name: str, action: str, output: Format, url: str | None, *, force: bool = False) -> None:
    with connect(url) as client:
        row = client.metal_power(name, action, force=force)
    if row["changing_to"] is not None:
        click.echo(f"its controller has not done it yet; dovetail metal show {name} tells how it goes on", err=True)
    show(row, output, lambda _: f"{name} is {row['power']}")
