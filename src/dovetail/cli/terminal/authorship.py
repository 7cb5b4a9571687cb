"""Options that say who makes a change and why, for commands whose effect the history keeps."""

import getpass
from typing import Annotated

import typer

By = Annotated[str, typer.Option("--by", metavar="TEXT", help="Who makes the change, for the history.")]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for the history.")]


def login() -> str:
    """The user that runs this program (not verified); empty if it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no entry in the list of users, as in many containers
        return ""
