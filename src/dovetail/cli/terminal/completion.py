"""Completion for shells: names that the server knows, and PowerShell, which Click does not know.

Guarantees: without a server that answers at once, nothing is offered and nothing is said.
"""

import os

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from dovetail.cli.terminal.parameters import Parameter
from dovetail.cli.terminal.server import server_url

PATIENCE_S = 0.5  # with a server that is slow; a shell waits with whoever types
COMPLETE_VARIABLE = "_DOVETAIL_COMPLETE"  # as Click derives it from the name of the program

_SCRIPT = """\
$completer = {
    param($wordToComplete, $commandAst, $cursorPosition)
    $Env:%(complete_var)s = "powershell_complete"
    $Env:COMP_WORDS = $commandAst.ToString()
    $Env:COMP_CURRENT = $wordToComplete
    %(prog_name)s | ForEach-Object {
        $value, $text = $_ -Split ":::"
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
    }
    $Env:%(complete_var)s = ""
    $Env:COMP_WORDS = ""
    $Env:COMP_CURRENT = ""
}
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock $completer
"""


def offers(ctx: click.Context, how: Parameter, incomplete: str) -> list[CompletionItem]:
    """What a shell may put in place of an incomplete word."""
    words = [word for word in how.words if word.startswith(incomplete)]
    return [
        CompletionItem(word) for word in (*words, *(_names(ctx, how.completes, incomplete) if how.completes else ()))
    ]


def _names(ctx: click.Context, kind: str, prefix: str) -> list[str]:
    from dovetail.client.errors import ConnectError, DovetailError
    from dovetail.client.transport.transport import API, Transport

    try:
        transport = Transport(_url(ctx), None, PATIENCE_S, pauses_s=())
        found = transport.items(f"{API}/names", {"kind": kind, "prefix": prefix})
    except (ConnectError, DovetailError, ValueError, KeyError, TypeError, OSError):
        return []  # no server, an older one, or something else that listens there
    return [name for name in found if isinstance(name, str)]


def _url(ctx: click.Context) -> str:
    """The server that the words typed so far are about: `--url` after the command or before it, or the usual one."""
    asked: click.Context | None = ctx
    while asked is not None:
        if url := asked.params.get("url"):
            return str(url)
        asked = asked.parent
    return server_url()


class PowerShellComplete(ShellComplete):
    name = "powershell"
    source_template = _SCRIPT

    def get_completion_args(self) -> tuple[list[str], str]:
        words, current = split_arg_string(os.environ.get("COMP_WORDS", "")), os.environ.get("COMP_CURRENT", "")
        return (words[1:-1] if current else words[1:]), current

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.value}:::{' '.join((item.help or item.value).split())}"


def complete_for_powershell() -> None:
    add_completion_class(PowerShellComplete)


def completion_script(shell: str, command: click.Command) -> str:
    """What a user's shell reads once, to complete the words of `dovetail`."""
    complete_for_powershell()
    found = get_completion_class(shell)
    if found is None:
        raise ValueError(f"no completion for the shell {shell!r}")
    return found(command, {}, "dovetail", COMPLETE_VARIABLE).source()
