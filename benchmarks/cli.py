"""How long commands take, each in a new process, against a server with 1,000 nodes.

The wall time is what the person at the keyboard waits for: the interpreter, imports, the question, the server's answer
and the drawing. The processor time is that of the command's process alone; on a busy machine it says more.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from statistics import median
from time import perf_counter

from benchmarks.control.server import running
from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle

#: By the name of the figure. `busy` runs on many nodes, `waiting` fits nowhere.
COMMANDS = {
    "nodes": "nodes",
    "get": "get",
    "queue": "queue",
    "explain": "explain waiting",
    "describe": "describe busy",
    "top": "top --once",
    "logs": "logs busy",
    "capacity": "capacity --cpu 2",
    "submit": "submit -- true",
    "complete": "",
}
#: What a shell sets when it completes a word.
ENVIRONMENTS = {
    "complete": {"_DOVETAIL_COMPLETE": "bash_complete", "COMP_WORDS": "dovetail describe bu", "COMP_CWORD": "2"}
}
ALL_NODES, ALL_NODES_MS = ("nodes", "top"), 300.0  # they read and draw 1,000 nodes
WALL = {name: at_most(f"cli.{name}", ALL_NODES_MS if name in ALL_NODES else 200.0, "ms") for name in COMMANDS}
PROCESSOR = at_most("cli.processor_time", 120.0, "ms")
ROUNDS, WARM_UPS = 11, 2


@benchmark(*WALL.values(), PROCESSOR)
def cold_commands(bench: Bench) -> Iterator[tuple[str, Measured]]:
    with bench.folder() as folder, running(folder) as server:
        with server.client() as client:
            server.post_until_accepted(client, {"name": "waiting", "resources": {"cpu": 10_000}})
            server.post_until_accepted(client, {"name": "busy", "replicas": 200, "resources": {"cpu": 1}})
        processor_ms: dict[str, float] = {}
        for name, words in COMMANDS.items():
            shell = ENVIRONMENTS.get(name, {})
            rounds = [_run_ms(words, server.url, shell) for _ in range(WARM_UPS + ROUNDS)][WARM_UPS:]
            processor_ms[name] = median(processor for _, processor in rounds)
            bench.say(f"{words or name}: {processor_ms[name]:.0f} ms of processor time")
            yield WALL[name].name, middle([wall for wall, _ in rounds], "processes")
    others = [found for name, found in processor_ms.items() if name not in ALL_NODES]
    said = f"median of {len(others)} commands, without nodes and top"
    yield PROCESSOR.name, Measured(median(others), min(others), max(others), said)


def _run_ms(words: str, url: str, shell: Mapping[str, str]) -> tuple[float, float]:
    """Wall time and processor time of one command."""
    # Compiled modules are kept, as they are for users, whatever this shell says.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"DOVETAIL_URL": url, **shell}
    command = [sys.executable, "-m", "dovetail", *words.split()]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    wall_s, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"dovetail {words} ended with {done.returncode}: {done.stderr[:300]}")
    processor_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s * 1000, processor_s * 1000
