"""Runs one attempt and writes down how it ended; outlives the control plane that started it.

Started as `python -I -S supervisor <run folder>`, one process an attempt, in a session of its own. It guarantees:

- the command of a run folder is started at most once, ever: `claim.json` appears at most once and is on disk
  before anything else happens, so a second supervisor for the same folder ends without doing anything;
- a command that was started is recorded in `running.json` first: the forked child waits at a gate and goes on to
  the command only after the record is written, and gives up when the supervisor dies before that;
- when `result.json` appears, nothing of the attempt runs any more: what the command left behind in its process
  group and its cgroups has been killed.

It leaves to others: what the order says (`order.py`), reading these files (`run_folder.py`), and what to do when
the supervisor itself is killed (`run_folder.py` again).

Start-up time is paid for every attempt, hence the plain style: no `json`, `signal`, `typing`, `subprocess` or
`pathlib`, which together would take longer to load than everything else takes to run.
"""

# ruff: noqa: PTH102, PTH103, PTH106, PTH108, PTH110, PTH116, PTH123, PTH208, SIM105

import _signal as signal  # type: ignore[import-not-found]  # the C part; `signal` would load enum as well
import errno
import os
import sys
import time

ORDER, CLAIM, RUNNING, RESULT, STOP = "order", "claim.json", "running.json", "result.json", "stop"
OUTPUT, OUTPUT_TIMES, INPUT, WORK, DOORBELL = "output.log", "output.times", "input", "work", ".doorbell"

TIME_LIMIT_EXIT, UNUSABLE_EXIT, NOT_FOUND_EXIT = 124, 126, 127  # as timeout(1) and the shells have them
NOTICE_S = 2.0  # how soon a stop is noticed if its signal was lost
RECORD_S = 10.0  # how often the size of the output is written down, if it has changed
SWEEP_UP_S = 5.0  # how long killed processes may take to go before the result is written anyway
_STOPPING = (15, 2, 1)  # SIGTERM, SIGINT, SIGHUP
_WAKING = (*_STOPPING, 17)  # and SIGCHLD
_TERM, _KILL = 15, 9

Fields = dict[str, list[str]]
Outcome = tuple[int | None, str]


def pack(pairs: list[tuple[str, str]]) -> bytes:
    """`key=value`, one a line, each ended by NUL and newline: values may hold newlines, never NUL."""
    return b"".join(f"{key}={value}\0\n".encode("utf-8", "surrogateescape") for key, value in pairs)


def unpack(content: bytes) -> Fields:
    found: Fields = {}
    for line in content.split(b"\0\n")[:-1]:
        key, _, value = line.decode("utf-8", "surrogateescape").partition("=")
        found.setdefault(key, []).append(value)
    return found


def to_json(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{to_json(key)}: {to_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{min(ord(c), 0xFFFD):04x}" for c in value)
        return '"' + "".join(plain) + '"'
    return "null" if value is None else repr(value)


def publish(run: str, name: str, content: bytes, durable: bool) -> bool:
    """Make a complete file appear, unless it exists already. Returns whether this call did."""
    draft = f"{run}/.{name}.{os.getpid()}.{time.monotonic_ns()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]
        if durable:
            os.fsync(file)
        os.link(draft, f"{run}/{name}")
    except FileExistsError:
        return False
    finally:
        os.close(file)
        os.unlink(draft)
    if durable:
        folder = os.open(run, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return True


def read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def boot_id() -> str:
    return (read_text("/proc/sys/kernel/random/boot_id") or "").strip()


def _stat(pid: int | str) -> list[str]:
    """The fields after the name in /proc/<pid>/stat; none if the process does not live."""
    fields = (read_text(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    return fields if fields and fields[0] not in "ZX" else []


def started_ticks(pid: int) -> int | None:
    """When a living process started: together with pid and boot id a name that is never reused."""
    fields = _stat(pid)
    return int(fields[19]) if fields else None


def identity(pid: int) -> dict[str, object]:
    return {"pid": pid, "started_ticks": started_ticks(pid), "boot_id": boot_id(), "at": time.time()}


def ring(run: str) -> None:
    """Ask a listening backend to look at this run. If none listens or the pipe is full, it looks by itself."""
    folder, _, key = run.rpartition("/")
    try:
        bell = os.open(f"{folder}/{DOORBELL}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    try:
        os.write(bell, key.encode() + b"\n")
    except OSError:
        pass
    finally:
        os.close(bell)


def cgroup_pids(cgroups: list[str]) -> set[int]:
    texts = [read_text(f"{path}/cgroup.procs") or "" for path in cgroups]
    return {int(pid) for text in texts for pid in text.split()}


def _group_pids(group: int) -> set[int]:
    """Living members of a process group, by a walk through /proc: only for attempts without a cgroup."""
    return {int(pid) for pid in os.listdir("/proc") if pid.isdigit() and _stat(pid)[2:3] == [str(group)]}


def remains(group: int | None, cgroups: list[str]) -> bool:
    """Whether any process of the attempt still lives."""
    if cgroups:
        return bool(cgroup_pids(cgroups))
    return group is not None and bool(_group_pids(group))


def signal_all(group: int | None, cgroups: list[str], signo: int) -> None:
    """To the process group, and to processes in the cgroups that left it; once to each process."""
    if group is not None:
        try:
            os.killpg(group, signo)
        except (ProcessLookupError, PermissionError):
            pass
    for pid in cgroup_pids(cgroups):
        try:
            if os.getpgid(pid) != group:
                os.kill(pid, signo)
        except (ProcessLookupError, PermissionError):
            pass


def sweep_up(group: int | None, cgroups: list[str]) -> None:
    """Kill what is left, again and again while new processes appear, until nothing remains."""
    until = time.monotonic() + SWEEP_UP_S
    signal_all(group, cgroups, _KILL)
    while remains(group, cgroups) and time.monotonic() < until:
        time.sleep(0.005)
        signal_all(group, cgroups, _KILL)


def remove_cgroups(cgroups: list[str]) -> None:
    """A cgroup can be busy for a moment after its last process went."""
    for path in cgroups:
        for _ in range(50):
            try:
                os.rmdir(path)
                break
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.01)


def _prepare_cgroups(order: Fields) -> None:
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


def _become(order: Fields, gate: int, fault: int, given: int, output: int) -> None:
    """In the child: apply limits and environment, wait at the gate, become the command. Never returns."""
    code, what = UNUSABLE_EXIT, "could not be set up"
    try:
        os.setsid()
        for path in order.get("cgroup", []):
            with open(f"{path}/cgroup.procs", "w") as file:
                file.write("0")
        for source, target in ((given, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        if not os.read(gate, 1):
            os._exit(UNUSABLE_EXIT)  # the supervisor is gone and has not recorded this process, so it must not go on
        os.umask(0o022)
        workdir, command = order["workdir"][0], order["arg"]
        what = f"working directory {workdir!r} cannot be used"
        os.chdir(workdir)
        what = f"command {command[0]!r} cannot be run"
        env = dict(entry.split("=", 1) for entry in order.get("env", []))
        for signo in range(1, 32):  # Python ignores some, nohup or a shell's & others; commands expect none ignored
            if signo not in (9, 19):  # SIGKILL, SIGSTOP: they cannot be ignored or reset
                signal.signal(signo, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for most in order.get("rlimit_as", []):  # last: from here on this process itself may run out
            import resource

            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            limit = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        os.execvpe(command[0], command, env)  # noqa: S606
    except OSError as error:
        why = os.strerror(error.errno or 0)
        if what.startswith("command") and error.errno in (errno.ENOENT, errno.ENOTDIR):
            code, why = NOT_FOUND_EXIT, "not found"
            if os.path.exists(order["arg"][0]):
                why = "the interpreter in its first line, or its loader, was not found"
        os.write(fault, f"{code} {what}: {why}".encode())
    except BaseException as error:
        os.write(fault, f"{code} {what}: {error!r}".encode())
    finally:
        os._exit(code)


def _open_input(run: str, order: Fields) -> int:
    """What the command reads: nothing, or a named pipe that stays open until the command ends, because the command
    itself holds its other end, too."""
    if "stdin" not in order:
        return os.open(os.devnull, os.O_RDONLY)
    os.mkfifo(f"{run}/{INPUT}", 0o600)
    return os.open(f"{run}/{INPUT}", os.O_RDWR)


def _stop_asked(run: str, signo: int | None) -> str | None:
    """The reason to stop, or None. The file is written before the signal is sent, so it has the better reason."""
    asked = read_text(f"{run}/{STOP}")
    if asked is None and signo in _STOPPING:
        asked = f"its supervisor received signal {signo}"
    return asked


def _record_size(run: str, before: int) -> int:
    """Write down how long the output is now, so that people can ask for what is newer. Returns its size."""
    try:
        size = os.stat(f"{run}/{OUTPUT}").st_size
        if size != before:
            with open(f"{run}/{OUTPUT_TIMES}", "a") as file:
                file.write(f"{time.time():.3f} {size}\n")
    except OSError:  # a full disk: the output matters more than its index
        return before
    return size


def _watch(run: str, order: Fields, pid: int) -> Outcome | None:
    """Until the command has ended (it is not reaped yet). Returns the outcome if this function ended it, else None."""
    cgroups, started = order.get("cgroup", []), time.monotonic()
    run_for_s = float(order["run_for_s"][0]) if "run_for_s" in order else None
    ending: Outcome | None = None
    due, signo = started + run_for_s if run_for_s is not None else None, None
    size, recorded = 0, started
    while not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        now = time.monotonic()
        if now - recorded >= RECORD_S:
            size, recorded = _record_size(run, size), now
        if ending is None:
            asked = _stop_asked(run, signo)
            if asked is not None:
                ending = (None, f"stopped: {asked}")
            elif due is not None and now >= due:
                ending = (TIME_LIMIT_EXIT, f"stopped: it ran longer than its time limit of {order['run_for'][0]}")
            if ending is not None:
                signal_all(pid, cgroups, _TERM)
                due = now + float(order["grace_s"][0])
        elif due is not None and now >= due:
            signal_all(pid, cgroups, _KILL)
            due = now + 0.1  # a process may have been born while the others were killed
        wait_s = NOTICE_S if due is None else min(NOTICE_S, max(0.0, due - now))
        woken = signal.sigtimedwait(_WAKING, wait_s)
        signo = woken.si_signo if woken else None
    while ending is not None and due is not None and time.monotonic() < due and remains(pid, cgroups):
        time.sleep(0.02)  # the others got the same signal and have the same grace period
    return ending


def _oom_kills(order: Fields) -> int:
    for path in order.get("oom", []):
        for line in (read_text(path) or "").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _judge(status: int, order: Fields) -> Outcome:
    code = os.waitstatus_to_exitcode(status)
    code, reason = (128 - code, f"killed by signal {-code}") if code < 0 else (code, f"exited with status {code}")
    if code and _oom_kills(order):
        reason = f"killed: used more than its memory limit of {order['memory'][0]}"
    return code, reason


def _carry_out(run: str, order: Fields) -> tuple[Outcome, dict[str, object]]:
    cgroups, asked = order.get("cgroup", []), _stop_asked(run, None)
    if asked is not None:
        return (None, f"stopped before it started: {asked}"), {}
    try:
        _prepare_cgroups(order)
    except OSError as error:
        remove_cgroups(cgroups)
        return (UNUSABLE_EXIT, f"its limits could not be applied, so it was not started: {error}"), {}
    os.makedirs(f"{run}/{WORK}", exist_ok=True)
    output = os.open(f"{run}/{OUTPUT}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for note in order.get("note", []):
        os.write(output, f"{note}\n".encode("utf-8", "surrogateescape"))
    given = _open_input(run, order)
    gate, fault = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(gate[1])
        _become(order, gate[0], fault[1], given, output)
    for file in (gate[0], fault[1], given, output):
        os.close(file)
    publish(run, RUNNING, to_json(identity(pid)).encode(), durable=False)
    os.write(gate[1], b"g")
    os.close(gate[1])
    failed = os.read(fault[0], 4096).decode(errors="replace")  # empty when the command took over: exec closed it
    ring(run)
    ending = _watch(run, order, pid)
    sweep_up(pid, cgroups)  # before reaping: until then the pid, and so the group, cannot be reused
    _, status, used = os.wait4(pid, 0)
    if failed:
        code, _, reason = failed.partition(" ")
        ending = (int(code), reason)
    usage: dict[str, object] = {"user_s": used.ru_utime, "system_s": used.ru_stime}
    usage["max_rss_bytes"] = used.ru_maxrss * 1024
    return ending or _judge(status, order), usage


def main(run: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKING)
    with open(f"{run}/{ORDER}", "rb") as file:
        order = unpack(file.read())
    if not publish(run, CLAIM, to_json(identity(os.getpid())).encode(), durable=True):
        return
    (code, reason), usage = _carry_out(run, order)
    result = to_json({"exit_code": code, "reason": reason, "finished_at": time.time(), "usage": usage}).encode()
    for _ in range(60):  # a full disk may have space again soon; without a result the exit status is lost
        try:
            publish(run, RESULT, result, durable=True)
            break
        except OSError as error:
            sys.stderr.write(f"cannot write {RESULT}: {error}\n")
            time.sleep(1)
    ring(run)
    remove_cgroups(order.get("cgroup", []))


if __name__ == "__main__":
    main(sys.argv[1])
    sys.stdout.flush()
    os._exit(0)  # nothing is left to clean up, and the interpreter's own clean-up takes time
