"""The commands by name, and a group that imports one only when it is called.

Guarantees: help and completion of the names come from this table alone. A module named here offers `command`: a
function, whose signature and docstring become options and help, or a `typer.Typer` with commands of its own.
"""

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from dovetail.cli.failure import reported


class Entry(NamedTuple):
    section: str
    module: str
    help: str


_SECTIONS = ("Work", "Questions", "Rules", "Machines", "Subsystems", "This program")
_WORK, _ASK, _RULES, _NODES, _SUBSYSTEMS, _PROGRAM = _SECTIONS

COMMANDS: dict[str, Entry] = {
    "submit": Entry(_WORK, "submit", "Submit workloads from files, or one command."),
    "get": Entry(_WORK, "get", "List workloads, or show one."),
    "describe": Entry(_WORK, "describe", "Everything about one workload, from timeline to history."),
    "logs": Entry(_WORK, "logs", "Print what a task wrote."),
    "cancel": Entry(_WORK, "cancel", "Stop workloads."),
    "queue": Entry(_WORK, "queue", "What waits, in order, and why."),
    "queues": Entry(_WORK, "queues", "The tree of queues: use, limits, loans, fairness."),
    "top": Entry(_WORK, "top", "The whole cluster, live."),
    "plan": Entry(_ASK, "plan", "Where workloads would go now; nothing is changed."),
    "explain": Entry(_ASK, "explain", "Why a workload runs where it runs, or why it waits."),
    "why-not": Entry(_ASK, "why_not", "Why a workload is not on a certain node."),
    "capacity": Entry(_ASK, "capacity", "How many more of a shape fit, and where."),
    "fragmentation": Entry(_ASK, "fragmentation", "Free GPU capacity that typical work cannot use."),
    "simulate": Entry(_ASK, "simulate", "Replay work on a virtual cluster and compare policies."),
    "policy": Entry(_RULES, "policy", "Constraints with a name, applied to many workloads."),
    "constraint": Entry(_RULES, "constraint", "Check an expression about nodes."),
    "affinity": Entry(_RULES, "affinity", "Which nodes services should be on, and which not."),
    "nodes": Entry(_NODES, "nodes", "List nodes, show one, register or change one."),
    "cordon": Entry(_NODES, "cordon", "Let a node take no new work."),
    "uncordon": Entry(_NODES, "uncordon", "Let a node take work again."),
    "drain": Entry(_NODES, "drain", "Cordon a node and move its work elsewhere."),
    "fail": Entry(_NODES, "fail", "Say that a node or a whole domain has failed."),
    "topology": Entry(_NODES, "topology", "The network: levels, domains, what is free in each."),
    "distance": Entry(_NODES, "distance", "How far nodes are from each other, and set that by hand."),
    "backend": Entry(_NODES, "backend", "The systems that run work: how they do; add and remove them."),
    "reserve": Entry(_NODES, "reserve", "Hold capacity back on a node for a while."),
    "kubernetes": Entry(_PROGRAM, "kubernetes", "Kubernetes: check our verdicts against its own scheduler."),
    "serve": Entry(_PROGRAM, "serve", "Run the control plane on this machine."),
    "demo": Entry(_PROGRAM, "demo", "Run it on a simulated cluster with a stream of work."),
    "config": Entry(_PROGRAM, "config", "Check or show the settings of the control plane."),
    "completion": Entry(_PROGRAM, "completion", "Print the completion script of a shell."),
    "version": Entry(_PROGRAM, "version", "Print the version, here and of the server."),
}


@cache
def installed() -> dict[str, Entry]:
    """The commands, and those of subsystems that other packages offer, whose module is a reference."""
    from dovetail.control.subsystems.registry import subsystem_commands

    more = {name: Entry(_SUBSYSTEMS, one.command, one.help) for name, one in subsystem_commands()}
    return {**more, **COMMANDS}


def load(name: str) -> Any:
    """The command behind a name."""
    entry = COMMANDS.get(name) or installed()[name]
    if ":" in entry.module:
        from dovetail.model.plugin_loading import load_object

        found = load_object(entry.module)
    else:
        found = import_module(f"dovetail.cli.{entry.module}").command
    if not isinstance(found, typer.Typer):
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(found)
        found = app
    command = typer.main.get_command(found)
    command.name = name
    command.short_help = entry.help
    _without_types(command)
    return command


def _without_types(command: Any) -> None:
    """`NODE`, not `NODE <str>`: the help text of an argument says what goes there."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: ""  # noqa: ARG005 - Typer's signature
    for inner in getattr(command, "commands", {}).values():
        _without_types(inner)


class Commands(TyperGroup):
    """The group behind `dovetail`. Contexts are Typer's own and stay opaque here."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        return list(installed())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - Typer's signature
        if cmd_name not in self.commands and (cmd_name in COMMANDS or cmd_name in installed()):
            self.commands[cmd_name] = load(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.commands
        is_known = args[0] in COMMANDS or args[0] in installed()
        self.commands = known if is_known else {**{name: _named(name) for name in installed()}, **known}
        try:
            return super().resolve_command(ctx, args)  # suggests from the names that it knows
        finally:
            self.commands = known

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        known, self.commands = self.commands, {name: _named(name) for name in installed()}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = known

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        commands = installed()
        width = max(map(len, commands))
        for section in sorted({entry.section for entry in commands.values()}, key=_SECTIONS.index):
            with formatter.section(section):
                formatter.write_dl(
                    [(name.ljust(width), entry.help) for name, entry in commands.items() if entry.section == section]
                )

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Lines as they were written: rewrapped, the table of exit codes would be one paragraph."""
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            formatter.write(f"{line}\n")

    def invoke(self, ctx: Any) -> Any:
        with reported():
            return super().invoke(ctx)


def _named(name: str) -> TyperCommand:
    """Enough of a command to be listed."""
    return TyperCommand(name, help=installed()[name].help)
