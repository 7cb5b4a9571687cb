"""The commands by name, and a group that imports one only when it is called.

Guarantees: help and completion of the names come from this table alone. A command is a function, whose signature and
docstring become options and help, or a group with actions of its own.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from dovetail.cli.terminal.commands import CommandGroup, command_of
from dovetail.cli.terminal.failure import reported

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandEntry(NamedTuple):
    section: str
    home: str  # a module of this package, which offers `command`, or `module:function`
    help: str


_SECTIONS = ("Work", "Questions", "Rules", "Machines", "Subsystems", "This program")
_WORK, _ASK, _RULES, _NODES, _SUBSYSTEMS, _PROGRAM = _SECTIONS

COMMANDS: dict[str, CommandEntry] = {
    "submit": CommandEntry(_WORK, "workloads.submit", "Submit workloads from files, a command or a script."),
    "apply": CommandEntry(_WORK, "services.apply", "Make the services of files, or change them."),
    "run": CommandEntry(_WORK, "workloads.run", "Submit a command, show its output, end with its exit code."),
    "get": CommandEntry(_WORK, "workloads.get:get", "List workloads, or show one."),
    "describe": CommandEntry(_WORK, "workloads.describe", "Everything about one workload, from timeline to history."),
    "logs": CommandEntry(_WORK, "workloads.logs", "Print what a task wrote."),
    "events": CommandEntry(_WORK, "workloads.events", "What happened, and what happens, with names."),
    "note": CommandEntry(_WORK, "workloads.note", "Write a line into the history, which charts mark."),
    "history": CommandEntry(_WORK, "workloads.history", "Workloads of the past, with CPU-hours and GPU-hours."),
    "cancel": CommandEntry(_WORK, "workloads.cancel", "Cancel workloads, by name or all that are meant."),
    "preempt": CommandEntry(_WORK, "workloads.preempt", "Stop tasks of others for a workload that waits."),
    "attach": CommandEntry(_WORK, "workloads.attach", "Show what a running task writes, and write to its input."),
    "exec": CommandEntry(_WORK, "workloads.exec", "Run a command next to a running task."),
    "diff": CommandEntry(_WORK, "workloads.diff", "What a submit of files would change."),
    "retry": CommandEntry(_WORK, "workloads.retry", "Run the failed tasks of workloads again."),
    "services": CommandEntry(_WORK, "services.services:services", "Work that stays up: list services, or show one."),
    "scale": CommandEntry(_WORK, "services.services:scale", "Have more or fewer replicas of a service."),
    "endpoints": CommandEntry(_WORK, "services.endpoints:endpoints", "Where a service is reached, nearest first."),
    "rollout": CommandEntry(_WORK, "services.rollout", "Follow the update of a service, undo it, see its revisions."),
    "queue": CommandEntry(_WORK, "queues.queues:queue", "Pending workloads in order, and why they wait."),
    "queues": CommandEntry(_WORK, "queues.queues:queues", "The tree of queues: use, limits, loans, fairness."),
    "top": CommandEntry(_WORK, "top.command", "The whole cluster, live."),
    "plan": CommandEntry(_ASK, "questions:plan", "Where workloads would go now; nothing is changed."),
    "explain": CommandEntry(_ASK, "questions:explain", "Why a workload runs where it runs, or why it waits."),
    "why-not": CommandEntry(_ASK, "questions:why_not", "Why a workload is not on a certain node."),
    "capacity": CommandEntry(_ASK, "questions:capacity", "How many more of a shape fit, and where."),
    "fragmentation": CommandEntry(_ASK, "questions:fragmentation", "Free GPU capacity that typical work cannot use."),
    "simulate": CommandEntry(_ASK, "simulate.command", "Replay work on a virtual cluster and compare policies."),
    "what-if": CommandEntry(_ASK, "simulate.what_if", "What other nodes, work or profiles would change, on a copy."),
    "snapshot": CommandEntry(_ASK, "simulate.snapshot", "Write the whole state to a file, for dovetail simulate."),
    "profiles": CommandEntry(_ASK, "profiles", "Profiles and schedulers; preview what another profile would do."),
    "sweep": CommandEntry(_ASK, "simulate.sweep:sweep", "Simulate many variants and seeds, and compare them."),
    "replay": CommandEntry(
        _ASK, "simulate.replay:replay", "Decide a recorded day again, as it was or by another profile."
    ),
    "cost": CommandEntry(_ASK, "cost.cost", "What work has cost, and what the month will have cost."),
    "attention": CommandEntry(_ASK, "overview:attention", "What needs a person now, the worst first."),
    "trends": CommandEntry(_ASK, "overview:trends", "How use, waiting work and decisions went over time."),
    "decisions": CommandEntry(_ASK, "overview:decisions", "The latest decisions about any workload, and why."),
    "policy": CommandEntry(_RULES, "policies.policy", "Constraints with a name, applied to many workloads."),
    "constraint": CommandEntry(_RULES, "policies.constraint", "Check an expression about nodes."),
    "affinity": CommandEntry(_RULES, "policies.affinity", "Which nodes services should be on, and which not."),
    "budget": CommandEntry(_RULES, "cost.budget", "What the work of a namespace may cost in a month."),
    "nodes": CommandEntry(_NODES, "nodes.nodes", "List nodes, show one, register or change one."),
    "cordon": CommandEntry(_NODES, "nodes.availability:cordon", "Let nodes take no new work."),
    "uncordon": CommandEntry(_NODES, "nodes.availability:uncordon", "Let nodes take work again."),
    "drain": CommandEntry(_NODES, "nodes.availability:drain", "Cordon nodes and move their work elsewhere."),
    "fail": CommandEntry(_NODES, "nodes.availability:fail", "Report that a node or a whole domain has failed."),
    "rebalance": CommandEntry(_NODES, "nodes.rebalance", "How evenly nodes are used, and which moves pay."),
    "topology": CommandEntry(_NODES, "network.topology", "The network: levels, domains, what is free in each."),
    "distance": CommandEntry(_NODES, "network.distance", "How far nodes are from each other, and set that by hand."),
    "traffic": CommandEntry(_NODES, "network.traffic", "Which workloads exchange how much, and what to declare."),
    "vm": CommandEntry(_NODES, "vms", "Virtual machines: list, console, power, snapshots, migrate, adopt."),
    "backend": CommandEntry(_NODES, "backends", "The systems that run work: list, add and remove them."),
    "cloud": CommandEntry(_NODES, "cloud", "Machines launched for work: prices, instances, lost ones."),
    "metal": CommandEntry(_NODES, "metal", "Bare metal: power, hardware, sensors, what being off has saved."),
    "token": CommandEntry(_NODES, "tokens", "Who may speak to the server: admin token, nodes that join."),
    "reserve": CommandEntry(_NODES, "queues.reserve", "Reserve capacity, now or later."),
    "open": CommandEntry(_PROGRAM, "program.open", "The dashboard in the browser, logged in."),
    "kubernetes": CommandEntry(_PROGRAM, "kubernetes.command", "Kubernetes: check our verdicts against its scheduler."),
    "agent": CommandEntry(_PROGRAM, "program.agent", "Make this machine a node of a control plane elsewhere."),
    "serve": CommandEntry(_PROGRAM, "program.serve", "Run the control plane on this machine."),
    "dns": CommandEntry(_PROGRAM, "program.dns", "Answer DNS queries for the names of services."),
    "demo": CommandEntry(_PROGRAM, "program.demo", "Run it on a simulated cluster with a stream of work."),
    "mcp": CommandEntry(_PROGRAM, "mcp.command", "Tools for assistants that ask this server and change nothing."),
    "config": CommandEntry(_PROGRAM, "program.config", "Check or show the settings of the control plane."),
    "completion": CommandEntry(_PROGRAM, "program.about:completion", "Print the completion script of a shell."),
    "version": CommandEntry(_PROGRAM, "program.about:version", "Print the version, here and of the server."),
}


@cache
def installed() -> dict[str, CommandEntry]:
    """The commands, and those of subsystems that other packages offer."""
    from dovetail.control.subsystems.registry import subsystem_commands

    more = {name: CommandEntry(_SUBSYSTEMS, one.command, one.help) for name, one in subsystem_commands()}
    return {**more, **COMMANDS}


def load(name: str) -> click.Command:
    """The command behind a name."""
    entry = COMMANDS.get(name) or installed()[name]
    if name in COMMANDS:
        module, _, function = entry.home.partition(":")
        found = getattr(import_module(f"dovetail.cli.{module}"), function or "command")
    else:
        from dovetail.model.plugin_loading import load_object

        found = load_object(entry.home)
    command = found if isinstance(found, click.Command) else command_of(found, name)
    command.name = name
    command.short_help = entry.help
    return command


class Commands(CommandGroup):
    """The group behind `dovetail`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - Click's signature
        return list(installed())

    def has_action(self, name: str) -> bool:
        return name in COMMANDS or name in installed()  # in this order: looking for packages takes time

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - Click's signature
        if cmd_name not in self.commands and self.has_action(cmd_name):
            self.commands[cmd_name] = load(cmd_name)
        return self.commands.get(cmd_name)

    def main(self, *args: Any, **how: Any) -> Any:
        if os.environ.get("_DOVETAIL_COMPLETE", "").startswith("powershell"):
            from dovetail.cli.terminal.completion import complete_for_powershell

            complete_for_powershell()
        return super().main(*args, **how)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        with self._all_named():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _all_named(self) -> Iterator[None]:
        """Inside the block every command has a stand-in, enough to list it."""
        loaded, commands = self.commands, installed().items()
        self.commands = {name: click.Command(name, help=entry.help) for name, entry in commands}
        try:
            yield
        finally:
            self.commands = loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        commands = installed()
        width = max(map(len, commands))
        for section in sorted({entry.section for entry in commands.values()}, key=_SECTIONS.index):
            with formatter.section(section):
                formatter.write_dl(
                    [(name.ljust(width), entry.help) for name, entry in commands.items() if entry.section == section]
                )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Lines as they were written: rewrapped, the table of exit codes would be one paragraph."""
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            formatter.write(f"{line}\n")

    def invoke(self, ctx: click.Context) -> Any:
        with reported():
            return super().invoke(ctx)
