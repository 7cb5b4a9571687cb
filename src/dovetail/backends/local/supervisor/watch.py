"""Watches a command until it has ended, or ends it: it was asked to, or it is over a limit of its order.

In the plain style of this package, for the same reason.
"""

# ruff: noqa: PTH110, PTH116, PTH123

import _signal as signal  # type: ignore[import-not-found]
import os
import select
import time

from dovetail.backends.local.supervisor.disk_use import folder_bytes
from dovetail.backends.local.supervisor.output_file import OutputFile
from dovetail.backends.local.supervisor.process_tree import ProcessTree
from dovetail.backends.local.supervisor.run_files import FORCE, OUTPUT, OUTPUT_TIMES, STOP, WORK, Fields, read_text

TIME_LIMIT_EXIT, KILLED_EXIT = 124, 137  # as timeout(1) has it; 128 + SIGKILL
NOTICE_S = 2.0  # how soon a stop is noticed if its signal was lost
RECORD_S = 10.0  # how often the size of the output is written down, if it has changed
MEASURE_S = 2.0  # how often the size of the working folder is measured, at most
MEASURE_SHARE = 0.05  # of the time is spent on that, at most
_STOPPING = (15, 2, 1)  # SIGTERM, SIGINT, SIGHUP
WAKING = (*_STOPPING, 17)  # and SIGCHLD
_TERM = 15

Outcome = tuple[int | None, str]


def stop_asked(run: str, signo: int | None) -> str | None:
    """The reason to stop, or None. The file is written before the signal is sent, so it has the better reason."""
    asked = read_text(f"{run}/{STOP}")
    if asked is None and signo in _STOPPING:
        asked = f"its supervisor received signal {signo}"
    return asked


def record_size(run: str, before: int) -> int:
    """Write down how long the output is now, so that people can ask for what is newer. Returns its size."""
    try:
        size = os.stat(f"{run}/{OUTPUT}").st_size
        if size != before:
            with open(f"{run}/{OUTPUT_TIMES}", "a") as file:
                file.write(f"{time.time():.3f} {size}\n")
    except OSError:  # a full disk: the output matters more than its index
        return before
    return size


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
        for signo in WAKING:
            signal.signal(signo, _ignore)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, WAKING)
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


class CommandWatch:
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
                self._size, self._recorded = record_size(self._run, self._size), now
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
        asked = stop_asked(self._run, signo)
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
