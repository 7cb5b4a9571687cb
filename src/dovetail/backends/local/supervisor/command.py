"""From the fork to the command: cgroups, standard files, user, working folder, limits, environment.

Guarantees: the command runs as the user, in the namespaces and within the limits of its order, or not at all; whoever
cannot become it says why.

In the plain style of this package, for the same reason.
"""

# ruff: noqa: PTH102, PTH110, PTH123

import _signal as signal  # type: ignore[import-not-found]  # the C part; `signal` would load enum as well
import errno
import os

from dovetail.backends.local.supervisor.containment import Namespace, drop_privileges, why_closed
from dovetail.backends.local.supervisor.process_tree import remove_cgroups
from dovetail.backends.local.supervisor.run_files import Fields

UNUSABLE_EXIT, NOT_FOUND_EXIT = 126, 127  # as the shells have them


def prepare_cgroups(order: Fields) -> None:
    for path in order.get("cgroup", []):
        try:
            os.mkdir(path)
        except FileExistsError:  # left by a run folder that was deleted: start with clean counters
            remove_cgroups([path])
            os.mkdir(path)
    for setting in order.get("write", []):
        path, _, value = setting.rpartition("=")
        with open(path, "w") as file:
            file.write(value)


def become(order: Fields, gate: int, fault: int, given: int, output: int, namespace: Namespace | None = None) -> None:
    """In the child: apply limits and environment, wait at the gate, become the command. Never returns."""
    code, what = UNUSABLE_EXIT, "could not be set up"
    try:
        os.setsid()
        join_cgroups(order)
        for source, target in ((given, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        if not os.read(gate, 1):
            os._exit(UNUSABLE_EXIT)  # the supervisor is gone and has not recorded this process, so it must not go on
        what = "its user and namespaces could not be set up, so it was not started"
        load_for(order)
        closed = why_folder_closed(order)
        if namespace is not None:
            namespace.see()
        drop_privileges(order)
        what = enter_folder(order, closed, 1)
        execute(order, order["arg"])
    except OSError as error:
        code, words = why_not_run(order, order["arg"][0], what, error)
        os.write(fault, f"{code} {words}".encode())
    except BaseException as error:
        os.write(fault, f"{code} {what}: {error!r}".encode())
    finally:
        os._exit(code)


def join_cgroups(order: Fields) -> None:
    for path in order.get("cgroup", []):
        with open(f"{path}/cgroup.procs", "w") as file:
            file.write("0")


class _Unusable(OSError):
    """A step before the command itself failed; the text says which."""


def why_folder_closed(order: Fields) -> int:
    """The error for entering the directory that the workload names, or where it was submitted, seen from outside: what
    its user cannot enter may be hidden from it."""
    named = order.get("submit_dir", order["workdir"])[0]
    return 0 if "own_folder" in order and "submit_dir" not in order else why_closed(named, order)


def enter_folder(order: Fields, closed: int = 0, says: int | None = None) -> str:
    """Where it was submitted, if it is to run there and can, else the working directory. `closed`: the error for that
    one. `says`: where to say that it cannot. Returns what comes next."""
    os.umask(0o022)
    for folder in order.get("submit_dir", []):
        try:
            _enter(folder, closed)
            return "command"
        except OSError as error:
            own, name = order["workdir"][0], order["node"][0]
            missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
            why = os.strerror(error.errno or 0).lower()
            where = f"is not on {name}" if missing else f"cannot be entered on {name} ({why})"
            words = f"dovetail: {folder}, where it was submitted, {where}; it runs in {own}\n"
            if says is not None:
                os.write(says, words.encode("utf-8", "surrogateescape"))
    folder = order["workdir"][0]
    try:
        _enter(folder, 0 if "submit_dir" in order else closed)
    except OSError as error:
        who = f" by user {os.getuid()}, as which it runs" if "uid" in order and error.errno == errno.EACCES else ""
        words = f"working directory {folder!r} cannot be used{who}: {os.strerror(error.errno or 0)}"
        raise _Unusable(error.errno, words) from None
    return "command"


def _enter(folder: str, closed: int) -> None:
    if closed:
        raise OSError(closed, os.strerror(closed))
    os.chdir(folder)


def why_not_run(order: Fields, program: str, what: str, error: OSError) -> tuple[int, str]:
    if isinstance(error, _Unusable):
        return UNUSABLE_EXIT, str(error.strerror)
    why = error.strerror or os.strerror(error.errno or 0)
    if what != "command":
        return UNUSABLE_EXIT, f"{what}: {why}"
    who = f" by user {os.getuid()}, as which it runs" if "uid" in order and error.errno == errno.EACCES else ""
    what = f"command {program!r} cannot be run{who}"
    if error.errno not in (errno.ENOENT, errno.ENOTDIR):
        return UNUSABLE_EXIT, f"{what}: {why}"
    found = os.path.exists(program)
    return (
        NOT_FOUND_EXIT,
        f"{what}: {'the interpreter in its first line, or its loader, was not found' if found else 'not found'}",
    )


def load_for(order: Fields) -> None:
    """What is needed after privileges were dropped: then Python's own folder may be closed."""
    if "rlimit" in order:
        import resource  # noqa: F401


def execute(order: Fields, command: list[str], env: dict[str, str] | None = None) -> None:
    """`env`: what it gets beside the order's, which wins."""
    env = (env or {}) | dict(entry.split("=", 1) for entry in order.get("env", []))
    for signo in range(1, 32):  # Python ignores some, nohup or a shell's & others; commands expect none ignored
        if signo not in (9, 19):  # SIGKILL, SIGSTOP: they cannot be ignored or reset
            signal.signal(signo, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    limits = order.get("rlimit", [])
    if limits:  # last: from here on this process itself may run out
        import resource  # loaded by `load_for` while that could be read

        for limit in limits:
            name, _, most = limit.partition("=")
            which = int(getattr(resource, f"RLIMIT_{name}"))
            hard = resource.getrlimit(which)[1]
            value = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
            resource.setrlimit(which, (value, value))
    _find_and_execute(command, env)


def _find_and_execute(command: list[str], env: dict[str, str]) -> None:
    """As `os.execvpe` does, which would load a module that the user of the command may not be able to read."""
    if "/" in command[0]:
        os.execve(command[0], command, env)  # noqa: S606
    refused: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in env.get("PATH", os.defpath).split(":"):
        try:
            os.execve(f"{folder}/{command[0]}", command, env)  # noqa: S606
        except (FileNotFoundError, NotADirectoryError):
            pass
        except PermissionError as error:  # another folder may have one that can be run
            refused = error
    raise refused
