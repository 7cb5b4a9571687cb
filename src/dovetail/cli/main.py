"""The entry point of `dovetail`: the options before the command, and the exit codes.

Leaves to others: which commands there are (`command_table`) and how failures end (`failure`).
"""

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import click

from dovetail.cli.command_table import Commands
from dovetail.cli.terminal.commands import parameters_of
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Url, use_server, use_token_file

EPILOG = """\
Exit codes: 0 done; 1 what was asked about failed or was not placed;
            2 bad input or usage; 3 the server cannot be reached;
            4 not found; 5 refused by the server; 130 interrupted.

First steps: dovetail serve                                  in one terminal
             dovetail submit --name hello --wait -- echo hi  in another
             dovetail explain hello\
"""


def _print_version(wanted: bool) -> bool:
    if wanted:
        from dovetail import __version__

        click.echo(f"dovetail {__version__}")
        raise click.exceptions.Exit
    return wanted


def dovetail(
    url: Url = None,
    token_file: Annotated[
        Path | None,
        Option(metavar="FILE", help="A file with the token.  [default: $DOVETAIL_TOKEN, or that of a server of yours]"),
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    use_server(url)
    if token_file is not None:
        use_token_file(token_file)


app = Commands(
    "Dovetail fits work to machines.",
    "dovetail",
    params=parameters_of(dovetail),
    callback=dovetail,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character must not end the command
    app(prog_name="dovetail")


if __name__ == "__main__":
    run()
