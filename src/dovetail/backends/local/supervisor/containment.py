"""Separates a command from the machine it runs on: its user, its processes, what it sees of the disk.

A supervisor calls this for its own attempt. Where the order names a namespace, `Namespace.enter` makes one of processes
and one of mounts, with an init of its own:

- what the order hides (the data of the control plane) is covered by an empty file system; the working folder of the
  attempt stays, at its usual path; the cgroups are read-only; `/proc` shows the processes of the attempt only;
- when init ends, the kernel ends everything in the namespace, however it was started. Init ends when its supervisor
  tells it to, and when its supervisor dies.

`drop_privileges` then makes the calling process the user of the order, and keeps it from gaining rights: setuid
programs do nothing more. Guarantees: a step that fails raises OSError, and the command is not started.

In the plain style of this package, for the same reason. libc is called through the C part of ctypes: loading ctypes
itself takes a third of the time that Python takes to start.
"""

# ruff: noqa: PTH103, PTH110, PTH112, PTH116, PTH123, SIM105

import _ctypes
import _signal as signal  # type: ignore[import-not-found]
import os
import time

from dovetail.backends.local.supervisor.run_files import Fields

CGROUPS = "/sys/fs/cgroup"

_NEW_MOUNTS, _NEW_USER, _NEW_PIDS = 0x0002_0000, 0x1000_0000, 0x2000_0000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT = 1, 2, 4, 8, 32
_BIND, _REC, _SLAVE = 0x1000, 0x4000, 0x8_0000
_SYS_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000  # the same number on every architecture
_SET_DEATH_SIGNAL, _SET_SUBREAPER, _SET_NO_NEW_PRIVS = 1, 36, 38
_PUNCH_HOLE_KEEP_SIZE = 3


class _Int(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "i"


class _Long(_ctypes._SimpleCData):  # type: ignore[type-arg]
    _type_ = "q"


class _Function(_ctypes.CFuncPtr):
    _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
    _restype_ = _Int


_LIBC = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # what this process has loaded


def _call(name: str, *arguments: object) -> None:
    _ctypes.set_errno(0)
    if _Function(_ctypes.dlsym(_LIBC, name))(*arguments) < 0:
        code = _ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def _prctl(option: int, value: int) -> None:
    _call("prctl", _Int(option), _Long(value), _Long(0), _Long(0), _Long(0))


def adopt_orphans() -> None:
    """What this process started, and what that started, stays below it, also when those in between end."""
    _prctl(_SET_SUBREAPER, 1)


def die_with_parent() -> None:
    """To be called after `drop_privileges`, which would undo it."""
    _prctl(_SET_DEATH_SIGNAL, 9)


def punch_hole(file: int, start: int, length: int) -> None:
    """Give the space of a part of the file back; its size stays."""
    _call("fallocate", file, _PUNCH_HOLE_KEEP_SIZE, _Long(start), _Long(length))


def drop_privileges(order: Fields) -> None:
    if "uid" in order:
        os.setgroups([int(group) for group in order.get("group", [])])
        gid, uid = int(order["gid"][0]), int(order["uid"][0])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
    if "no_new_privs" in order:
        _prctl(_SET_NO_NEW_PRIVS, 1)


def hand_over(file: int, order: Fields) -> None:
    """Let the user of the command open its input and output by name (`/dev/stdout`), too."""
    if "uid" in order:
        os.fchown(file, int(order["uid"][0]), int(order["gid"][0]))


class Namespace:
    """Where the command of an attempt runs. `init`: the pid of its first process, as its supervisor sees it."""

    def __init__(self, init: int, control: int, mounts: int) -> None:
        self.init = init
        self._control = control
        self._mounts = mounts

    @classmethod
    def enter(cls, order: Fields, work: str) -> "Namespace":
        """From now on the children of this process are born in the namespace; it stays outside itself."""
        if "user" in order["namespace"]:
            _make_user_namespace()
        _call("unshare", _NEW_PIDS)
        ready, control = os.pipe(), os.pipe()
        init = os.fork()
        if init == 0:
            os.close(control[1])
            _be_init(order, work, ready[1], control[0])
        os.close(ready[1])
        os.close(control[0])
        said = os.read(ready[0], 4096).decode(errors="replace")
        os.close(ready[0])
        if said != "ready":
            os.waitpid(init, 0)
            raise OSError(0, said or "the first process of its namespace ended")
        return cls(init, control[1], os.open(f"/proc/{init}/ns/mnt", os.O_RDONLY))

    def see(self) -> None:
        """Let the calling process, a child, see the disk as the command shall."""
        _call("setns", self._mounts, _NEW_MOUNTS)

    def signal(self, signo: int) -> None:
        """Send it to every process in the namespace but init."""
        try:
            os.write(self._control, bytes([signo]))
        except BrokenPipeError:  # it has ended
            pass

    def end(self) -> None:
        """Kill every process."""
        try:
            os.kill(self.init, 9)
        except ProcessLookupError:
            pass

    def wait(self, timeout_s: float) -> None:
        """Until none is left. Those that this process started have to be reaped before."""
        until = time.monotonic() + timeout_s
        while os.waitpid(self.init, os.WNOHANG)[0] == 0 and time.monotonic() < until:
            time.sleep(0.001)


def join(init: int, *, user: bool) -> int:
    """Let the children of this process be born where that init is. Returns the mounts there, for `see`."""
    kinds = ("user", "pid", "mnt") if user else ("pid", "mnt")
    files = [os.open(f"/proc/{init}/ns/{kind}", os.O_RDONLY) for kind in kinds]
    for file in files[:-1]:
        _call("setns", file, 0)
        os.close(file)
    return files[-1]


def see(mounts: int) -> None:
    _call("setns", mounts, _NEW_MOUNTS)


def _make_user_namespace() -> None:
    """One with this user only, under the same numbers: enough to be allowed the other namespaces."""
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", _NEW_USER)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _be_init(order: Fields, work: str, ready: int, control: int) -> None:
    """Never returns. Orphans become children of init, and the kernel reaps them because init ignores their end."""
    try:
        os.setsid()
        signal.signal(17, signal.SIG_IGN)  # SIGCHLD
        _arrange_mounts(order, work)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.write(ready, b"ready")
        os.close(ready)
        while asked := os.read(control, 1):
            try:
                os.kill(-1, asked[0])
            except ProcessLookupError:
                pass
    except OSError as error:
        os.write(ready, str(error.strerror or error).encode())
    finally:
        os._exit(0)


def _arrange_mounts(order: Fields, work: str) -> None:
    _call("unshare", _NEW_MOUNTS)
    _mount("none", "/", "", _REC | _SLAVE)  # mounts of the machine appear here, none of these appears there
    kept = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    for path in [_first_closed(path, order) for path in order.get("hide", [])]:
        if not os.path.isdir(path):
            if os.path.exists(path):
                _mount(os.devnull, path, "", _BIND)
            continue
        _mount("tmpfs", path, "tmpfs", _NOSUID | _NODEV, "mode=755,size=1m")
        if work.startswith(f"{path}/"):
            os.makedirs(work)
            _mount(f"/proc/self/fd/{kept}", work, "", _BIND)
        _mount("none", path, "", _REMOUNT | _BIND | _RDONLY | _NOSUID | _NODEV)
    os.close(kept)
    for path in order.get("read_only", []):
        _make_read_only(path)
    if "own_proc" in order:
        _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)


def _first_closed(path: str, order: Fields) -> str:
    """The first folder on the way to `path` that the user of the order cannot enter; else `path`. Hiding that one costs
    the user nothing, and lets it reach its own folder, which may be below."""
    parts = path.split("/")
    ways = ["/".join(parts[:number]) for number in range(2, len(parts))]
    return next((way for way in ways if why_closed(way, order)), path)


def why_closed(folder: str, order: Fields) -> int:
    """The error that the user of the order gets who enters the folder; 0 if it can. The caller is still root."""
    if "uid" not in order:
        return 0
    os.setgroups([int(group) for group in order.get("group", [])])
    os.setegid(int(order["gid"][0]))
    os.seteuid(int(order["uid"][0]))
    try:
        os.stat(f"{folder}/.")
        return 0
    except OSError as error:
        return error.errno or 0
    finally:
        os.seteuid(0)
        os.setegid(0)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    try:
        _call("mount", source.encode(), os.fsencode(target), kind.encode(), _Long(flags), options.encode())
    except OSError as error:
        raise OSError(error.errno, f"mount {target}: {os.strerror(error.errno or 0)}") from None


def _make_read_only(path: str) -> None:
    """With everything mounted below it. Kernels before 5.12 cannot do that at once: there it is hidden instead."""
    attributes = (1).to_bytes(8, "little") + bytes(24)  # set: read-only; clear, propagation, user namespace: nothing
    try:
        _call(
            "syscall", _Long(_SYS_MOUNT_SETATTR), _Int(_AT_FDCWD), os.fsencode(path), _Int(_AT_RECURSIVE), attributes,
            _Long(32),
        )  # fmt: skip
    except OSError:
        _mount("tmpfs", path, "tmpfs", _RDONLY | _NOSUID | _NODEV | _NOEXEC, "mode=755,size=4k")
