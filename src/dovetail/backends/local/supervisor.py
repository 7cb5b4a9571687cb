"""Runs one attempt and writes down how it ended; outlives the control plane that started it.

Started as `python -I -S supervisor <run folder>`, one process an attempt, in a session of its own. It guarantees:

- the command of a run folder is started at most once, ever: `claim.json` appears at most once and is on disk
  before anything else happens, so a second supervisor for the same folder ends without doing anything;
- a command that was started is recorded in `running.json` first: the forked child waits at a gate and goes on to
  the command only after the record is written, and gives up when the supervisor dies before that;
- the command runs as the user, in the namespaces and within the limits of its order, or not at all;
- when `result.json` appears, nothing of the attempt runs any more: what the command left behind has been killed.

It leaves to others: what the order says (`order.py`), how a command is separated (`containment.py`), how its processes
are found (`process_tree.py`), its output (`output_file.py`), reading these files (`run_folder.py`), and what to do when
the supervisor itself is killed (`run_folder.py` again).

`python -I -S supervisor --join <run folder> <terminal> <command>` runs a command beside that of an attempt.

Start-up time is paid for every attempt, hence the plain style: no `json`, `signal`, `typing`, `subprocess` or
`pathlib`, which together would take longer to load than everything else takes to run.
"""

# ruff: noqa: PTH100, PTH101, PTH102, PTH103, PTH108, PTH110, PTH116, PTH120, PTH123

import _signal as signal  # type: ignore[import-not-found]  # the C part; `signal` would load enum as well
import errno
import os
import select
import sys
import time

if __name__ == "__main__":  # its neighbours lie beside it, in packages that hold nothing else
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/dovetail/backends/local"))

from dovetail.backends.local.containment import (
    Namespace,
    adopt_orphans,
    die_with_parent,
    drop_privileges,
    hand_over,
    join,
    see,
    why_closed,
)
from dovetail.backends.local.output_file import OutputFile
from dovetail.backends.local.process_tree import SWEEP_UP_S, ProcessTree, read_text, remove_cgroups, stat_of

ORDER, CLAIM, RUNNING, RESULT, STOP = "order", "claim.json", "running.json", "result.json", "stop"
OUTPUT, OUTPUT_TIMES, INPUT, WORK, DOORBELL = "output.log", "output.times", "input", "work", ".doorbell"
TERMINAL_TYPE = "xterm"  # as containers have it
FORCE = "force"  # beside `stop`: end it now, without grace

TIME_LIMIT_EXIT, UNUSABLE_EXIT, NOT_FOUND_EXIT = 124, 126, 127  # as timeout(1) and the shells have them
KILLED_EXIT = 137  # 128 + SIGKILL
NOTICE_S = 2.0  # how soon a stop is noticed if its signal was lost
RECORD_S = 10.0  # how often the size of the output is written down, if it has changed
MEASURE_S = 2.0  # how often the size of the working folder is measured, at most
MEASURE_SHARE = 0.05  # of the time is spent on that, at most
FULL_DISK_S = 60  # how long to wait for space
DEEPEST = 200  # folders in folders; one that is deeper cannot be measured
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


def publish_patiently(run: str, name: str, content: bytes, durable: bool = True) -> bool:
    """The same on a disk that may be full for a while. Without its claim an attempt is lost, and without its result its
    exit status. Raises OSError in the end, and at once if the folder was removed."""
    for waited in range(FULL_DISK_S + 1):
        try:
            return publish(run, name, content, durable)
        except OSError as error:
            if waited == FULL_DISK_S or error.errno == errno.ENOENT:
                raise
            complain(f"cannot write {name}: {error}")
            time.sleep(1)
    return False


def complain(words: str) -> None:
    try:
        os.write(2, f"{words}\n".encode("utf-8", "surrogateescape"))
    except OSError:  # its log lies on the same disk
        return


def boot_id() -> str:
    return (read_text("/proc/sys/kernel/random/boot_id") or "").strip()


def started_ticks(pid: int) -> int | None:
    """When a living process started: together with pid and boot id a name that is never reused."""
    fields = stat_of(pid)
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


def _become(order: Fields, gate: int, fault: int, given: int, output: int, namespace: Namespace | None = None) -> None:
    """In the child: apply limits and environment, wait at the gate, become the command. Never returns."""
    code, what = UNUSABLE_EXIT, "could not be set up"
    try:
        os.setsid()
        _join_cgroups(order)
        for source, target in ((given, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        if not os.read(gate, 1):
            os._exit(UNUSABLE_EXIT)  # the supervisor is gone and has not recorded this process, so it must not go on
        what = "its user and namespaces could not be set up, so it was not started"
        _load_for(order)
        closed = _why_closed(order)
        if namespace is not None:
            namespace.see()
        drop_privileges(order)
        what = _enter_folder(order, closed, 1)
        _execute(order, order["arg"])
    except OSError as error:
        code, words = _why_not_run(order, order["arg"][0], what, error)
        os.write(fault, f"{code} {words}".encode())
    except BaseException as error:
        os.write(fault, f"{code} {what}: {error!r}".encode())
    finally:
        os._exit(code)


def _join_cgroups(order: Fields) -> None:
    for path in order.get("cgroup", []):
        with open(f"{path}/cgroup.procs", "w") as file:
            file.write("0")


class _Unusable(OSError):
    """A step before the command itself failed; the text says which."""


def _why_closed(order: Fields) -> int:
    """The error for entering the directory that the workload names, or where it was submitted, seen from outside: what
    its user cannot enter may be hidden from it."""
    named = order.get("submit_dir", order["workdir"])[0]
    return 0 if "own_folder" in order and "submit_dir" not in order else why_closed(named, order)


def _enter_folder(order: Fields, closed: int = 0, says: int | None = None) -> str:
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


def _why_not_run(order: Fields, program: str, what: str, error: OSError) -> tuple[int, str]:
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


def _load_for(order: Fields) -> None:
    """What is needed after privileges were dropped: then Python's own folder may be closed."""
    if "rlimit" in order:
        import resource  # noqa: F401


def _execute(order: Fields, command: list[str], env: dict[str, str] | None = None) -> None:
    """`env`: what it gets beside the order's, which wins."""
    env = (env or {}) | dict(entry.split("=", 1) for entry in order.get("env", []))
    for signo in range(1, 32):  # Python ignores some, nohup or a shell's & others; commands expect none ignored
        if signo not in (9, 19):  # SIGKILL, SIGSTOP: they cannot be ignored or reset
            signal.signal(signo, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    limits = order.get("rlimit", [])
    if limits:  # last: from here on this process itself may run out
        import resource  # loaded by `_load_for` while that could be read

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


def _open_input(run: str, order: Fields) -> int:
    """What the command reads: nothing, or a named pipe that stays open until the command ends, because the command
    itself holds its other end, too."""
    if "stdin" not in order:
        return os.open(os.devnull, os.O_RDONLY)
    os.mkfifo(f"{run}/{INPUT}", 0o600)
    pipe = os.open(f"{run}/{INPUT}", os.O_RDWR)
    hand_over(pipe, order)
    return pipe


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


def folder_bytes(folder: int, enough: int, depth: int = 0) -> int:
    """The space that is used below an open folder; `enough` or more as soon as it is that much. Follows no links: the
    files belong to somebody else."""
    used = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                used += entry.stat(follow_symlinks=False).st_blocks * 512
                if used < enough and entry.is_dir(follow_symlinks=False):
                    used += enough if depth >= DEEPEST else _bytes_below(folder, entry.name, enough - used, depth)
            except OSError:  # it has just been removed
                continue
            if used >= enough:
                break
    return used


def _bytes_below(folder: int, name: str, enough: int, depth: int) -> int:
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        return folder_bytes(inner, enough, depth + 1)
    finally:
        os.close(inner)


def _number_of(folder: str) -> int | None:
    """By which a folder is told from another of the same name. None: it does not exist."""
    try:
        return os.stat(folder).st_ino
    except OSError:
        return None


class _Wake:
    """Signals and output wake the supervisor; between them it sleeps."""

    def __init__(self, output: OutputFile) -> None:
        self._output = output
        self._signals, into = os.pipe()
        for end in (self._signals, into):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(into, warn_on_full_buffer=False)
        for signo in _WAKING:
            signal.signal(signo, _ignore)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _WAKING)
        self._poller = select.poll()
        self._poller.register(self._signals, select.POLLIN)
        self._poller.register(output.outlet, select.POLLIN)

    def wait(self, wait_s: float) -> int | None:
        """Until a signal, for that long at most, with the output written as it comes. Returns a request to stop."""
        until = time.monotonic() + wait_s
        while True:
            ready = self._poller.poll(max(0.0, until - time.monotonic()) * 1000)
            files = [file for file, _ in ready]
            if self._output.outlet in files and not self._output.pump():
                self._poller.unregister(self._output.outlet)
            if self._signals in files:
                received = os.read(self._signals, 64)
                return next((signo for signo in received if signo in _STOPPING), None)
            if time.monotonic() >= until:
                return None


def _ignore(*_: object) -> None:
    pass


class _Watch:
    """Watches a command until it has ended. `ending`: the outcome, if the supervisor ended it."""

    def __init__(self, run: str, order: Fields, pid: int, tree: ProcessTree, output: OutputFile) -> None:
        self._run, self._order, self._pid, self._tree = run, order, pid, tree
        self._wake = _Wake(output)
        self._started = self._recorded = time.monotonic()
        self._size = 0
        self._folder = _number_of(run)
        self._measure_at = self._started + MEASURE_S if "folder_limit" in order else None
        limit = order.get("run_for_s")
        self._due = self._started + float(limit[0]) if limit else None
        self._forced = False
        self.ending: Outcome | None = None

    def until_it_ends(self) -> None:
        """It is not reaped yet when this returns."""
        signo = None
        while not os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            self._tree.reap_orphans(self._pid)
            now = time.monotonic()
            if now - self._recorded >= RECORD_S:
                self._size, self._recorded = _record_size(self._run, self._size), now
            if self.ending is None:
                self._look_for_reasons(now, signo)
            elif not self._forced and os.path.exists(f"{self._run}/{FORCE}"):
                self._forced, self._due = True, now
            if self.ending is not None and self._due is not None and now >= self._due:
                self._tree.sweep_up()
                self._due = now + 0.1
            signo = self._wake.wait(self._pause(now))
        while self.ending is not None and self._due is not None and time.monotonic() < self._due:
            if not self._tree.remains() or os.path.exists(f"{self._run}/{FORCE}"):
                break
            self._wake.wait(0.02)  # the others got the same signal and have the same grace period

    def _look_for_reasons(self, now: float, signo: int | None) -> None:
        asked = _stop_asked(self._run, signo)
        if asked is not None:
            self._end(now, (None, f"stopped: {asked}"))
        elif self._due is not None and now >= self._due:
            words = f"stopped: it ran longer than its time limit of {self._order['run_for'][0]}"
            self._end(now, (TIME_LIMIT_EXIT, words))
        elif self._measure_at is not None and now >= self._measure_at and self._uses_too_much(now):
            words = f"killed: its folder used more than the limit of {self._order['folder_limit'][0]}"
            self.ending, self._due = (KILLED_EXIT, words), now
        elif _number_of(self._run) != self._folder:
            self.ending, self._due = (None, "lost: its run folder was removed while it ran"), now

    def _end(self, now: float, outcome: Outcome) -> None:
        self.ending = outcome
        self._tree.signal(_TERM)
        self._forced = os.path.exists(f"{self._run}/{FORCE}")
        self._due = now if self._forced else now + float(self._order["grace_s"][0])

    def _uses_too_much(self, now: float) -> bool:
        most = int(self._order["folder_limit_bytes"][0])
        try:
            folder = os.open(f"{self._run}/{WORK}", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return False
        try:
            used = folder_bytes(folder, most + 1)
        finally:
            os.close(folder)
        self._measure_at = now + max(MEASURE_S, (time.monotonic() - now) / MEASURE_SHARE)
        return used > most

    def _pause(self, now: float) -> float:
        times = [time_at - now for time_at in (self._due, self._measure_at) if time_at is not None]
        return max(0.0, min(NOTICE_S, *times)) if times else NOTICE_S


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
    limit = order.get("output_limit_bytes")
    output = OutputFile(f"{run}/{OUTPUT}", int(limit[0]) if limit else None)
    try:
        namespace = _separate(run, order)
    except OSError as error:
        words = f"its user and namespaces could not be set up, so it was not started: {error.strerror or error}"
        return (UNUSABLE_EXIT, words), {}
    hand_over(output.inlet, order)
    given = _open_input(run, order)
    gate, fault = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(gate[1])
        _become(order, gate[0], fault[1], given, output.inlet, namespace)
    for file in (gate[0], fault[1], given):
        os.close(file)
    output.handed_over()
    init = {} if namespace is None else {"init": identity(namespace.init)}
    publish_patiently(run, RUNNING, to_json(identity(pid) | init).encode(), durable=False)
    os.write(gate[1], b"g")
    os.close(gate[1])
    failed = os.read(fault[0], 4096).decode(errors="replace")  # empty when the command took over: exec closed it
    ring(run)
    tree = ProcessTree(pid, cgroups, namespace, None if namespace else os.getpid())
    watch = _Watch(run, order, pid, tree, output)
    watch.until_it_ends()
    tree.sweep_up()  # before reaping: until then the pid, and so the group, cannot be reused
    _, status, used = os.wait4(pid, 0)
    if namespace is not None:
        namespace.wait(SWEEP_UP_S)
    output.drain()
    ending = watch.ending
    if failed:
        code, _, reason = failed.partition(" ")
        ending = (int(code), reason)
    usage: dict[str, object] = {"user_s": used.ru_utime, "system_s": used.ru_stime}
    usage["max_rss_bytes"] = used.ru_maxrss * 1024
    return ending or _judge(status, order), usage


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


def _join(run: str, terminal: str, command: list[str]) -> int:
    """Run a command beside that of the attempt: same folder, environment, user, limits, namespaces."""
    with open(f"{run}/{ORDER}", "rb") as file:
        order = unpack(file.read())
    mounts = None
    if "namespace" in order:
        import json

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
        _join_cgroups(order)
        _load_for(order)
        closed = _why_closed(order)
        if mounts is not None:
            see(mounts)
        drop_privileges(order)
        die_with_parent()
        what = _enter_folder(order, closed)
        _execute(order, command, {"TERM": TERMINAL_TYPE} if terminal else None)
    except OSError as error:
        code, words = _why_not_run(order, command[0], what, error)
        os.write(2, f"dovetail: {words}\n".encode())
        os._exit(code)
    finally:
        os._exit(UNUSABLE_EXIT)


def main(run: str) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _WAKING)
    with open(f"{run}/{ORDER}", "rb") as file:
        order = unpack(file.read())
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


if __name__ == "__main__":
    if sys.argv[1] == "--join":
        code = _join(sys.argv[2], sys.argv[3], sys.argv[4:])
        os._exit(128 - code if code < 0 else code)
    main(sys.argv[1])
    sys.stdout.flush()
    os._exit(0)  # nothing is left to clean up, and the interpreter's own clean-up takes time
