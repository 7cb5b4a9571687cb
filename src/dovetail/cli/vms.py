"""`dovetail vm`: virtual machines: list them, their console, power, snapshots, live migration, adoption."""

import time
from typing import TYPE_CHECKING, Annotated

import click

from dovetail.cli import render
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.options import Limit, Search, login, sorts_by
from dovetail.cli.terminal.output import Format, Output, say, show
from dovetail.cli.terminal.paging import show_page
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, NodeName, Url, WorkloadName, connect

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.vms import VmMigration

command = default_group("Virtual machines; `vm` alone lists them.")

POLL_S = 0.5


@command.action("list")
def list_vms(
    sort: Annotated[
        str, sorts_by("name", "power", "node", "workload", "cpus", "memory_bytes", "used_memory_bytes", "backend")
    ] = "",
    search: Search = "",
    limit: Limit = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Every VM on hypervisors of this server, also those that others made. `dovetail vm` does this."""
    with connect(url) as client:
        page = client.vm_page(search=search, sort=sort, limit=limit)
    show_page(page, output, render.vms.vm_list, "VM", search=search)


@command.action("console")
def console(name: WorkloadName, namespace: Namespace = None, url: Url = None) -> None:
    """The serial console of a VM, in both directions. Ctrl-C detaches: the VM goes on. What it wrote before:
    dovetail logs NAME."""
    from dovetail.cli.workloads.task_session import TaskSession

    with connect(url) as client:
        started = client.attach(name, namespace)
        say(f"console of {started['task']} on {started['node']}; Ctrl-C detaches")
        try:
            TaskSession(client, started["id"], sends_input=started["takes_input"]).run()
        except KeyboardInterrupt:
            say("detached; the VM goes on")
            raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    say("the VM is off")


@command.action("start")
def start(name: WorkloadName, namespace: Namespace = None, output: Output = Format.TABLE, url: Url = None) -> None:
    """Switch a VM on that was switched off with `dovetail vm stop`."""
    _power(name, namespace, "on", output, url)


@command.action("stop")
def stop(
    name: WorkloadName,
    cut: Annotated[bool, Option("--cut", help="Cut its power; do not ask the guest to shut down.")] = False,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Switch a VM off. Its workload goes on and keeps its node; `dovetail cancel` ends that as well."""
    _power(name, namespace, "cut" if cut else "off", output, url)


@command.action("reboot")
def reboot(
    name: WorkloadName,
    reset: Annotated[bool, Option("--reset", help="Reset it; do not ask the guest to reboot.")] = False,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Reboot a VM."""
    _power(name, namespace, "reset" if reset else "reboot", output, url)


@command.action("snapshot")
def snapshot(
    name: WorkloadName,
    snapshot_name: Annotated[str | None, Argument(metavar="SNAPSHOT", help="Its name; none lists them.")] = None,
    revert: Annotated[bool, Option("--revert", help="Let the VM go on from this snapshot.")] = False,
    remove: Annotated[bool, Option("--remove", help="Remove this snapshot.")] = False,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Take a snapshot of the disks and the memory of a VM, go back to one, or list them."""
    if revert and remove:
        raise Failure("choose one: --revert or --remove", ExitCode.USAGE)
    if snapshot_name is None and (revert or remove):
        raise Failure("say which snapshot: dovetail vm snapshot NAME SNAPSHOT", ExitCode.USAGE)
    with connect(url) as client:
        if snapshot_name is None:
            rows = client.vm_snapshots(name, namespace)
            show(rows, output, lambda wide: render.vms.snapshot_list(rows, time.time(), wide))
            return
        act = client.revert_vm if revert else client.remove_vm_snapshot if remove else client.take_vm_snapshot
        changed = act(name, snapshot_name, namespace)
    show(changed, output, lambda _: render.vms.vm_changed(changed, name))


@command.action("migrate")
def migrate(
    name: WorkloadName,
    node: NodeName,
    wait: Annotated[bool, Option("--wait/--no-wait", help="Wait until it has arrived, and show how far it is.")] = True,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Move a VM to another hypervisor while it runs."""
    with connect(url) as client:
        client.migrate_vm(name, node, namespace, reason=f"migrated by {login()}")
        found = _until_over(client, name, node, namespace) if wait else client.vm_migration(name, namespace)
    show(found, output, lambda _: render.vms.migration(found))
    if found["state"] == "failed":
        raise Failure(f"{name} was not migrated live: {found['message']}", ExitCode.FAILED)


@command.action("adopt")
def adopt(
    node: NodeName,
    vm: Annotated[str, Argument(metavar="VM", help="The VM's name on the hypervisor.")],
    name: Annotated[str | None, Option("--name", metavar="NAME", help="Of the workload.  [default: the VM's]")] = None,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Make a VM that others made a workload of this server. It runs on, and keeps its name and its disks."""
    with connect(url) as client:
        made = client.adopt_vm(node, vm, name or vm, namespace=namespace, user=login())
    of = "" if made["namespace"] == "default" else f"{made['namespace']}/"
    click.echo(f"{vm} on {node} becomes workload {of}{made['name']} (id {made['id']})")


def _power(name: str, namespace: str | None, power: str, output: Format, url: str | None) -> None:
    with connect(url) as client:
        changed = client.set_vm_power(name, power, namespace)
    show(changed, output, lambda _: render.vms.vm_changed(changed, name))


def _until_over(client: "Client", name: str, node: str, namespace: str | None) -> "VmMigration":
    while True:
        found = client.vm_migration(name, namespace)
        if found["state"] in ("done", "failed") and found["target"] == node:  # else it is the one before
            return found
        if found["state"] == "running" and found["total_bytes"]:
            say(render.vms.progress_line(found))
        time.sleep(POLL_S)
