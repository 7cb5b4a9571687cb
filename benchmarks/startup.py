"""How long a person waits before anything happens: `import dovetail`, and `dovetail --help`, each in a new process.

The import is timed inside its process, without the interpreter's own start; the help is timed from outside, all of it,
as the person at the keyboard sees it.
"""

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, repeated

IMPORT = at_most("startup.import", 100.0, "ms")
HELP = at_most("startup.help", 200.0, "ms")
ROUNDS, WARM_UPS = 11, 2
TIMED_IMPORT = "import time; t = time.perf_counter(); import dovetail; print((time.perf_counter() - t) * 1000)"


@benchmark(IMPORT)
def import_time(_: Bench) -> Iterator[tuple[str, Measured]]:
    yield IMPORT.name, middle(repeated(ROUNDS, WARM_UPS, lambda: float(_output("-c", TIMED_IMPORT))))


@benchmark(HELP)
def help_time(_: Bench) -> Iterator[tuple[str, Measured]]:
    def one() -> float:
        began = perf_counter()
        shown = _output("-m", "dovetail.cli.main", "--help")
        elapsed_ms = (perf_counter() - began) * 1000
        if "serve" not in shown:
            raise RuntimeError(f"dovetail --help does not name its commands: {shown[:200]!r}")
        return elapsed_ms

    yield HELP.name, middle(repeated(ROUNDS, WARM_UPS, one), "processes")


def _output(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout
