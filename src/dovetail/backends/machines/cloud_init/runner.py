"""Runs one job on a machine that nobody reaches and writes its end to the console. It is sent as user data: standard
library only, of Python 3.7 or newer.

Guarantees: the command is started once, however often the machine starts or the script is run. Every line has a secret
word and a checksum, so neither the job's own output nor a kernel message inside of a line is taken for a result. The
end is written again and again until the machine is ended, or powers itself off.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

FOLDER, CONSOLE = Path("/var/lib/dovetail-job"), "/dev/console"
EACH_BOOT = Path("/var/lib/cloud/scripts/per-boot")
ROOM, PART = 36 * 1024, 450  # EC2 keeps 64 KiB of a console; as lines this is 54 KiB
MOST = 4 * 1024 * 1024
REPEAT_S = 30
TIME_LIMIT_EXIT, UNUSABLE_EXIT, MISSING_EXIT, FIRST_SIGNAL_EXIT = 124, 126, 127, 128


def main(job: dict[str, Any]) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    claim, result = FOLDER / "claim", FOLDER / "result"
    FOLDER.mkdir(0o700, parents=True, exist_ok=True)
    if is_first(claim, boot):
        if EACH_BOOT.is_dir():  # cloud-init runs user data once; a machine that starts again has to say what is lost
            shutil.copy(sys.argv[0], EACH_BOOT / "dovetail")
        say(job, [("start", "-", b"")])
        write(result, json.dumps(run(job)))
    elif claim.read_text() == boot:
        return  # it is run already
    elif not result.exists():
        write(result, json.dumps([None, "lost: its machine was started again while it ran"]))
    lines = report(*json.loads(result.read_text()))
    until = time.monotonic() + job["linger_s"]
    say(job, lines)
    while time.monotonic() < until:
        time.sleep(max(0, min(REPEAT_S, until - time.monotonic())))
        say(job, lines)
    for command in (["poweroff"], ["shutdown", "-P", "now"]):
        if shutil.which(command[0]) and subprocess.call(command) == 0:  # noqa: S603
            break


def is_first(claim: Path, boot: str) -> bool:
    """A link is made whole or not at all, and never over another."""
    mine = claim.with_suffix(f".{os.getpid()}")
    write(mine, boot)
    try:
        os.link(str(mine), str(claim))
    except FileExistsError:
        return False
    finally:
        mine.unlink()
    return True


def write(path: Path, text: str) -> None:
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def run(job: dict[str, Any]) -> tuple[int, str]:
    """Exit code and reason."""
    own = FOLDER / "work"
    own.mkdir(exist_ok=True)
    places = [own / job["workdir"]] if job["workdir"] else [Path(job["submit_dir"] or own), own]
    place = next((one for one in places if one.is_dir()), None)
    if place is None:
        return UNUSABLE_EXIT, f"there is no folder {places[0]} on its machine"
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": "/root", "LANG": "C.UTF-8"}
    env.update(TMPDIR=tempfile.gettempdir(), **job["env"])
    with (FOLDER / "output").open("wb") as output:
        try:
            process = subprocess.Popen(  # noqa: S603
                job["command"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=str(place),
                env=env,
                start_new_session=True,
            )
        except OSError as error:
            code = MISSING_EXIT if isinstance(error, FileNotFoundError) else UNUSABLE_EXIT
            return code, f"its command could not be started: {error}"
        return end_of(process, job)


def end_of(process: subprocess.Popen[bytes], job: dict[str, Any]) -> tuple[int, str]:
    try:
        code = process.wait(job["run_for_s"])
        words = f"exit status {code}"
    except subprocess.TimeoutExpired:
        send(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(job["grace_s"])
        code, words = TIME_LIMIT_EXIT, f"stopped: it ran longer than its time limit of {job['run_for']}"
    send(process, signal.SIGKILL)  # whatever it has left behind
    process.wait()
    if code < 0:
        code, words = FIRST_SIGNAL_EXIT - code, f"killed by signal {-code}"
    return code, words


def send(process: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def report(code: int | None, reason: str) -> list[tuple[str, str, bytes]]:
    """The lines of the end: as much of the last output as there is room for, and how it ended."""
    path, keep, packed = FOLDER / "output", MOST, b""
    size = path.stat().st_size if path.exists() else 0
    while size:
        with path.open("rb") as file:
            file.seek(max(0, size - keep))
            packed = zlib.compress(file.read(size), 9)
        if len(packed) <= ROOM:
            break
        keep //= 2
    parts = [packed[at : at + PART] for at in range(0, len(packed), PART)]
    end = {"exit_code": code, "reason": reason, "parts": len(parts), "cut": max(0, size - keep)}
    lines = [("out", str(number), part) for number, part in enumerate(parts)]
    return [*lines, ("end", "-", json.dumps(end).encode())]


def say(job: dict[str, Any], lines: list[tuple[str, str, bytes]]) -> None:
    console = os.open(CONSOLE, os.O_WRONLY | os.O_NOCTTY | os.O_APPEND)
    for kind, number, content in lines:
        text = " ".join(["dovetail", job["nonce"], kind, number, base64.b64encode(content).decode() or "-"])
        line = f"\n{text} {zlib.crc32(text.encode()):08x}\n".encode()
        while line:
            line = line[os.write(console, line) :]
    os.close(console)
