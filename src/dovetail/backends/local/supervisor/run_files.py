"""The files of a run folder, as supervisors and the backend write them: complete, or not at all.

In the plain style of this package, for the same reason.
"""

# ruff: noqa: PTH108, PTH123

import errno
import os
import time

ORDER, CLAIM, RUNNING, RESULT, STOP = "order", "claim.json", "running.json", "result.json", "stop"
OUTPUT, OUTPUT_TIMES, INPUT, WORK, DOORBELL = "output.log", "output.times", "input", "work", ".doorbell"
FORCE = "force"  # beside `stop`: end it now, without grace

FULL_DISK_S = 60  # how long to wait for space

Fields = dict[str, list[str]]


def read_text(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def read_order(run: str) -> Fields:
    with open(f"{run}/{ORDER}", "rb") as file:
        return unpack(file.read())


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
