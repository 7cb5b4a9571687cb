"""Whose change it is, and why: options of commands whose effect the history keeps."""

import getpass
from typing import Annotated

import typer

By = Annotated[str, typer.Option("--by", metavar="TEXT", help="Whose change it is, for the history.")]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="Why, for the history.")]


def login() -> str:
    """The name under which this program runs, which is only what it says of itself; empty if there is none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # no entry in the list of users, as in many containers
        return ""
