"""Runs one attempt and writes down how it ended; outlives the control plane that started it.

Started as `python -I -S main <run folder>`, one process an attempt, in a session of its own. It guarantees:

- the command of a run folder is started at most once, ever: `claim.json` appears at most once and is on disk
  before anything else happens, so a second supervisor for the same folder ends without doing anything;
- a command that was started is recorded in `running.json` first: the forked child waits at a gate and goes on to
  the command only after the record is written, and gives up when the supervisor dies before that;
- the command runs as the user, in the namespaces and within the limits of its order, or not at all;
- when `result.json` appears, nothing of the attempt runs any more: what the command left behind has been killed.

It leaves to others: what the order says (`order.py`), reading these files, and what to do when the supervisor itself is
killed (`run_folder.py`).

`python -I -S main --join <run folder> <terminal> <command>` runs a command beside that of an attempt.
"""

# ruff: noqa: PTH100, PTH101, PTH103, PTH120

import _signal as signal  # type: ignore[import-not-found]  # the C part; `signal` would load enum as well
import os
import sys
import time

if __name__ == "__main__":  # its neighbours lie beside it, in packages that hold nothing else
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/dovetail/backends/local/supervisor"))

from dovetail.backends.local.supervisor.command import UNUSABLE_EXIT, become, prepare_cgroups
from dovetail.backends.local.supervisor.containment import Namespace, adopt_orphans, hand_over
from dovetail.backends.local.supervisor.output_file import OutputFile
from dovetail.backends.local.supervisor.process_identity import identity
from dovetail.backends.local.supervisor.process_tree import SWEEP_UP_S, ProcessTree, remove_cgroups
from dovetail.backends.local.supervisor.run_files import (
    CLAIM,
    INPUT,
    OUTPUT,
    RESULT,
    RUNNING,
    WORK,
    Fields,
    complain,
    publish_patiently,
    read_order,
    read_text,
    ring,
    to_json,
)
from dovetail.backends.local.supervisor.watch import WAKING, CommandWatch, Outcome, stop_asked

Usage = dict[str, object]


def main(run: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, WAKING)
    order = read_order(run)
    if not publish_patiently(run, CLAIM, to_json(identity(os.getpid())).encode()):
        return
    (code, reason), usage = _carry_out(run, order)
    result = to_json({"exit_code": code, "reason": reason, "finished_at": time.time(), "usage": usage}).encode()
    try:
        publish_patiently(run, RESULT, result)
    except OSError as error:
        complain(f"cannot write {RESULT}: {error}")
    ring(run)
    remove_cgroups(order.get("cgroup", []))


def _carry_out(run: str, order: Fields) -> tuple[Outcome, Usage]:
    asked = stop_asked(run, None)
    if asked is not None:
        return (None, f"stopped before it started: {asked}"), {}
    try:
        prepare_cgroups(order)
    except OSError as error:
        remove_cgroups(order.get("cgroup", []))
        return (UNUSABLE_EXIT, f"its limits could not be applied, so it was not started: {error}"), {}
    limit = order.get("output_limit_bytes")
    output = OutputFile(f"{run}/{OUTPUT}", int(limit[0]) if limit else None)
    try:
        namespace = _separate(run, order)
    except OSError as error:
        words = f"its user and namespaces could not be set up, so it was not started: {error.strerror or error}"
        return (UNUSABLE_EXIT, words), {}
    pid, failure = _start(run, order, output, namespace)
    ring(run)
    ending, usage = _wait(run, order, output, namespace, pid)
    return failure or ending, usage


def _separate(run: str, order: Fields) -> Namespace | None:
    """Make the working folder, and where the order names them, the namespaces."""
    work = f"{run}/{WORK}"
    os.makedirs(work, exist_ok=True)
    if "uid" in order:
        os.chown(work, int(order["uid"][0]), int(order["gid"][0]))
        os.chmod(work, 0o700)
    if "namespace" in order:
        return Namespace.enter(order, work)
    adopt_orphans()
    return None


def _start(run: str, order: Fields, output: OutputFile, namespace: Namespace | None) -> tuple[int, Outcome | None]:
    """Returns the process of the command, and if it could not become the command, why."""
    hand_over(output.inlet, order)
    given = _open_input(run, order)
    gate, fault = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(gate[1])
        become(order, gate[0], fault[1], given, output.inlet, namespace)
    for file in (gate[0], fault[1], given):
        os.close(file)
    output.handed_over()
    init = {} if namespace is None else {"init": identity(namespace.init)}
    publish_patiently(run, RUNNING, to_json(identity(pid) | init).encode(), durable=False)
    os.write(gate[1], b"g")
    os.close(gate[1])
    said = os.read(fault[0], 4096).decode(errors="replace")  # empty when the command took over: exec closed it
    code, _, reason = said.partition(" ")
    return pid, (int(code), reason) if said else None


def _open_input(run: str, order: Fields) -> int:
    """What the command reads: nothing, or a named pipe that stays open until the command ends, because the command
    itself holds its other end, too."""
    if "stdin" not in order:
        return os.open(os.devnull, os.O_RDONLY)
    os.mkfifo(f"{run}/{INPUT}", 0o600)
    pipe = os.open(f"{run}/{INPUT}", os.O_RDWR)
    hand_over(pipe, order)
    return pipe


def _wait(run: str, order: Fields, output: OutputFile, namespace: Namespace | None, pid: int) -> tuple[Outcome, Usage]:
    """Until nothing of the attempt runs any more. Returns how the command ended and what it used."""
    tree = ProcessTree(pid, order.get("cgroup", []), namespace, None if namespace else os.getpid())
    watch = CommandWatch(run, order, pid, tree, output)
    watch.until_it_ends()
    tree.sweep_up()  # before reaping: until then the pid, and so the group, cannot be reused
    _, status, used = os.wait4(pid, 0)
    if namespace is not None:
        namespace.wait(SWEEP_UP_S)
    output.drain()
    usage: Usage = {"user_s": used.ru_utime, "system_s": used.ru_stime, "max_rss_bytes": used.ru_maxrss * 1024}
    return watch.ending or _judge(status, order), usage


def _judge(status: int, order: Fields) -> Outcome:
    code = os.waitstatus_to_exitcode(status)
    code, reason = (128 - code, f"killed by signal {-code}") if code < 0 else (code, f"exited with status {code}")
    if code and _oom_kills(order):
        reason = f"killed: used more than its memory limit of {order['memory'][0]}"
    return code, reason


def _oom_kills(order: Fields) -> int:
    for path in order.get("oom", []):
        for line in (read_text(path) or "").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "--join":
        from dovetail.backends.local.supervisor.joining import join_attempt

        code = join_attempt(sys.argv[2], sys.argv[3], sys.argv[4:])
        os._exit(128 - code if code < 0 else code)
    main(sys.argv[1])
    sys.stdout.flush()
    os._exit(0)  # nothing is left to clean up, and the interpreter's own clean-up takes time
