"""Ends the waiting for processes that have ended: the test run takes in what its servers leave behind.

A process whose parent has gone belongs to the first process of the machine, which in some containers looks for the dead
only every two seconds. Until then they count as alive, and everybody who ends such a process waits: libvirt for each
VM that is switched off. So the run has a parent that takes them in, and does nothing but to wait for them.
"""

import ctypes
import os
import signal
import sys

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36


def run_under_reaper() -> None:
    """Returns in a child of this process, which stays behind as the parent and ends as the child does."""
    if not sys.platform.startswith("linux"):
        return
    system = ctypes.CDLL(None)
    if system.prctl(_SET_SUBREAPER, 1, 0, 0, 0):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        system.prctl(_SET_SUBREAPER, 0, 0, 0, 0)
        system.prctl(_SET_DEATH_SIGNAL, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C reaches the child by itself
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda which, _: os.kill(child, which))
    ended, status = 0, 0
    while ended != child:
        ended, status = os.waitpid(-1, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)
