"""Runs a command beside that of an attempt."""

import json
import os

from dovetail.backends.local.supervisor.command import (
    UNUSABLE_EXIT,
    enter_folder,
    execute,
    join_cgroups,
    load_for,
    why_folder_closed,
    why_not_run,
)
from dovetail.backends.local.supervisor.containment import die_with_parent, drop_privileges, hand_over, join, see
from dovetail.backends.local.supervisor.run_files import RUNNING, Fields, read_order, read_text

TERMINAL_TYPE = "xterm"  # as containers have it


def join_attempt(run: str, terminal: str, command: list[str]) -> int:
    """Run a command beside that of the attempt: same folder, environment, user, limits, namespaces."""
    order, mounts = read_order(run), None
    if "namespace" in order:
        running = json.loads(read_text(f"{run}/{RUNNING}") or "{}")
        mounts = join(int(running["init"]["pid"]), user="user" in order["namespace"])
    child = os.fork()
    if child == 0:
        _become_beside(order, mounts, terminal, command)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _become_beside(order: Fields, mounts: int | None, terminal: str, command: list[str]) -> None:
    """In the child. Never returns. Without a terminal it stays in the process group of its parent, and ends with it."""
    what = "could not be set up"
    try:
        if terminal:
            os.setsid()
            device = os.open(terminal, os.O_RDWR)  # it becomes that of the session
            hand_over(device, order)
            for standard in (0, 1, 2):
                os.dup2(device, standard)
        join_cgroups(order)
        load_for(order)
        closed = why_folder_closed(order)
        if mounts is not None:
            see(mounts)
        drop_privileges(order)
        die_with_parent()
        what = enter_folder(order, closed)
        execute(order, command, {"TERM": TERMINAL_TYPE} if terminal else None)
    except OSError as error:
        code, words = why_not_run(order, command[0], what, error)
        os.write(2, f"dovetail: {words}\n".encode())
        os._exit(code)
    finally:
        os._exit(UNUSABLE_EXIT)
