"""A program that does what its first argument says, to see how programs are started (`test_warm_process.py`)."""

import atexit
import json
import os
import sys
import threading
import time
from pathlib import Path


def describe() -> None:
    about = {
        "arguments": sys.argv[1:],
        "name": __name__,
        "file": sys.argv[0],
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "leads_its_session": os.getsid(0) == os.getpid(),
        "files": sorted(int(entry) for entry in os.listdir("/proc/self/fd")),  # noqa: PTH208 - numbers, not paths
        "threads": threading.active_count(),
        "given": sys.stdin.read(),
    }
    print(json.dumps(about))


def leave_late() -> None:
    """Work of another thread and of the end of the interpreter."""
    atexit.register(print, "at exit")
    threading.Timer(0.1, print, ["in a thread"]).start()


def sleep() -> None:
    print("sleeps", flush=True)
    time.sleep(1000)


if __name__ == "__main__":
    match sys.argv[1]:
        case "describe":
            describe()
        case "leave-late":
            leave_late()
        case "sleep":
            sleep()
        case "exit":
            sys.exit(7)
        case "complain":
            sys.exit("no such thing")
        case "fail":
            raise ValueError("out of range")
