"""How a command ends when it cannot do what was asked: a message on stderr, and an exit code for scripts.

Guarantees: what a user can cause never ends in a traceback. Commands raise `Failure` or let the errors of the client
and the model through; `reported` turns all of them into a message and a code. Anything else is a bug and shows itself.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from dovetail.client.errors import DovetailError


COMMAND_LINE = "command line"  # the source of what was written there instead of in a file
_PARTS_OF_A_REQUEST = ("request body", "query parameter")


class ExitCode(IntEnum):
    DONE = 0
    FAILED = 1  # what was asked about failed, or was not placed
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    REFUSED = 5
    INTERRUPTED = 130
    BROKEN_PIPE = 141  # as if the signal had ended it


class Failure(Exception):
    """Ends the command: what was wrong, where, and what to do."""

    def __init__(self, message: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(message)
        self.code = code


@contextmanager
def reported() -> Iterator[None]:
    """Failures inside the block end the program with their message and their code."""
    try:
        yield
    except Failure as failure:
        _end([str(failure)], failure.code)
    except BrokenPipeError:
        broken_pipe()
    except KeyboardInterrupt:
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    except click.exceptions.Exit:
        raise
    except Exception as error:
        foreseen = _foreseen(error)
        if foreseen is None:
            raise
        _end(*foreseen)


def broken_pipe() -> NoReturn:
    """The reader of our output closed it, as `head` does; Python's last flush must not complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise click.exceptions.Exit(ExitCode.BROKEN_PIPE)


def _end(lines: list[str], code: ExitCode) -> NoReturn:
    for line in lines:
        click.echo(line, err=True)
    raise click.exceptions.Exit(code)


def _foreseen(error: Exception) -> tuple[list[str], ExitCode] | None:
    """Message and code for an error of another package; None for an unexpected one."""
    from dovetail.client.errors import ConnectError, DovetailError
    from dovetail.model.text.complaint import Invalid

    if isinstance(error, Invalid):
        return complaint_lines(error.complaints), ExitCode.USAGE
    if isinstance(error, ConnectError):
        return [str(error)], ExitCode.UNREACHABLE
    if isinstance(error, DovetailError):
        return told(error)
    return None


def told(error: "DovetailError") -> tuple[list[str], ExitCode]:
    """Why the server refused: its complaints, one line each, or its sentence. Who typed a command knows of no request
    and no body: what is wrong there was wrong on the command line."""
    complaints = [
        replace(one, source=COMMAND_LINE) if one.source in _PARTS_OF_A_REQUEST else one for one in error.complaints
    ]
    return complaint_lines(complaints) or [error.detail], _code(error.status)


def complaint_lines(complaints: Sequence[object]) -> list[str]:
    """One line each. A reader of input stops after a hundred, so there may be more then."""
    from dovetail.model.text.complaint import MAX_COMPLAINTS

    lines = [str(complaint) for complaint in complaints]
    return [*lines, "there may be more mistakes; correct these first"] if len(lines) >= MAX_COMPLAINTS else lines


def _code(status: int) -> ExitCode:
    if status == 404:
        return ExitCode.NOT_FOUND
    return ExitCode.REFUSED if status in (401, 403, 409) or status >= 500 else ExitCode.USAGE
