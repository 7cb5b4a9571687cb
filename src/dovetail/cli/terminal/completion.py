"""Completion for shells: Click knows bash, zsh and fish; here is PowerShell."""

import os

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

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
