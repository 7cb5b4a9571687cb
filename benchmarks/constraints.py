"""The constraint language at full size: one expression of five comparisons over 100,000 nodes, and hostile input.

The same expression is evaluated node by node by three libraries in the same run, on as many nodes as is bearable, and
extrapolated to all: by `common-expression-language` (Rust), which takes a dictionary a node, as its manual shows;
by the same with every node's context prepared beforehand, which is not timed; by Google's C++ implementation with
activations prepared likewise; and by cel-python. All must find the same nodes. Ours is timed with nothing kept from one
evaluation to the next. Hostile texts are timed with the parser loaded, and the slowest counts.
"""

from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.clusters import nodes
from benchmarks.harness import Bar, Bench, Better, Measured, NotRun, at_least, at_most, benchmark
from benchmarks.measuring import middle, once, quiet
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import NodeProgram
from dovetail.constraints.syntax.parser import forget, parse, warm_up

NODES = 100_000
SAMPLE, SLOW_SAMPLE = 10_000, 500  # nodes that the libraries are asked about
ROUNDS = 31
SPEEDUP_ROUNDS = 5
MEMORY = "GiB(64)"
TEXT = (
    'node.labels["zone"] in ["north", "south"] && node.labels.arch == "amd64" && node.labels.disk != "hdd" '
    f"&& node.free.memory > {MEMORY} && !has(node.labels.spot)"
)
PLAIN = TEXT.replace(MEMORY, str(64 * 2**30))  # the others do not know GiB

EVALUATE = at_most("constraints.evaluate_ms", 3.0, "ms")
SPEEDUP = at_least("constraints.speedup", 300.0, "×")
PREPARED = Bar("constraints.speedup_prepared", "×", Better.HIGHER, None)
GOOGLE = Bar("constraints.speedup_google", "×", Better.HIGHER, None)
PYTHON = Bar("constraints.speedup_cel_python", "×", Better.HIGHER, None)
HOSTILE = at_most("constraints.hostile_ms", 100.0, "ms")
COMPILE = Bar("constraints.compile_ms", "ms", Better.LOWER, None)

_DEEP = 600
_ONES = f"[{','.join(['1'] * 90)}]"
HOSTILE_TEXTS = {
    "a megabyte": "x" * 1_000_000,
    "10,000 brackets": "(" * 10_000 + "true" + ")" * 10_000,
    "brackets": "(" * _DEEP + "true" + ")" * _DEEP,
    "lists": "[" * _DEEP + "]" * _DEEP,
    "negations": "!" * 4000 + "true",
    "minus signs": "-" * 4000 + "1 > 0",
    "choices": "true ? true : " * 240 + "true",
    "fields": "node" + ".a" * 490,
    "sums": "1" + " + 1" * 490 + " > 0",
    "a thousand words": "node.tasks<1&&" * 141 + "true",
    "backslashes": '"' + "\\" * 4001,
    "macros": f"{_ONES}.all(a, {_ONES}.all(b, {_ONES}.all(c, a > b)))",
    "repetitions": 'node.name.matches("((a{100}){100}){100}")',
    "Python": "__import__('os').system('true')",
    "types": "node.labels.zone > 3 && node.free.cpu + 1",
}


def _cluster() -> Cluster:
    cluster = Cluster()
    for node in nodes(NODES):
        cluster.join(node)
    return cluster


def _timed_ms(work: Callable[[], object]) -> float:
    began = perf_counter()
    work()
    return (perf_counter() - began) * 1000


@benchmark(EVALUATE, SPEEDUP, PREPARED, GOOGLE, PYTHON)
def evaluation(bench: Bench) -> Iterator[tuple[str, Measured]]:
    try:
        import cel as rust
        import celpy
        from cel_expr_python import cel as google  # type: ignore[import-untyped]
        from celpy.adapter import json_to_cel
    except ImportError as missing:
        raise NotRun(f"{missing.name} is missing; install the development dependencies") from None
    bench.say(f"building {NODES} nodes")
    view = View(_cluster())
    program = NodeProgram(TEXT, parse(TEXT))
    found = np.asarray(program.holds(view, "default"))
    plain = [{"node": _plain(view, row)} for row in range(SAMPLE)]

    # Each gives the nodes it finds in the sample, and is timed doing so.
    by_rust = rust.compile(PLAIN)
    contexts = [rust.Context(variables=one) for one in plain]
    environment = google.NewEnv(variables={"node": google.Type.Map(google.Type.STRING, google.Type.DYN)})
    by_google, activations = environment.compile(PLAIN), [environment.Activation(one) for one in plain]
    slow = celpy.Environment()
    by_python = slow.program(slow.compile(PLAIN))
    ready: list[Any] = [json_to_cel(one) for one in plain[:SLOW_SAMPLE]]
    libraries: dict[str, tuple[int, Callable[[], list[bool]]]] = {
        SPEEDUP.name: (SAMPLE, lambda: [bool(by_rust.execute(one)) for one in plain]),
        PREPARED.name: (SAMPLE, lambda: [bool(by_rust.execute(one)) for one in contexts]),
        GOOGLE.name: (SAMPLE, lambda: [bool(by_google.eval(one).value()) for one in activations]),
        PYTHON.name: (SLOW_SAMPLE, lambda: [bool(by_python.evaluate(one)) for one in ready]),
    }
    for name, (size, ask) in libraries.items():
        if ask() != found[:size].tolist():
            raise RuntimeError(f"{name}: another library finds other nodes")
    with quiet():
        ours = [_timed_ms(lambda: program.holds(view, "default")) for _ in range(ROUNDS)]
        yield EVALUATE.name, middle(ours, f"evaluations of {NODES} nodes, {int(found.sum())} of which it finds")
        for name, (size, ask) in libraries.items():
            bench.say(f"{name}: {size} nodes at a time")
            ratios = []
            for _ in range(SPEEDUP_ROUNDS if size == SAMPLE else 1):
                theirs_ms = _timed_ms(ask) * NODES / size
                mine = sorted(_timed_ms(lambda: program.holds(view, "default")) for _ in range(9))
                ratios.append(theirs_ms / mine[4])
            yield name, middle(ratios, f"rounds; theirs on {size} nodes, times {NODES // size}")


def _plain(view: View, row: int) -> dict[str, Any]:
    """A node as the libraries take it; no more of it than the expression needs."""
    free = view.free("memory")
    assert free is not None
    keys = ("zone", "arch", "disk", "pool", "rack", "spot")
    labels = {key: value for key in keys if (value := view.label(key, row)) is not None}
    return {"labels": labels, "free": {"memory": int(free[row])}}


@benchmark(HOSTILE, COMPILE)
def reading(_: Bench) -> Iterator[tuple[str, Measured]]:
    warm_up()
    worst, which = 0.0, ""
    for name, text in HOSTILE_TEXTS.items():
        times = [_timed_ms(lambda text=text: _refused(text)) for _ in range(3)]  # type: ignore[misc]
        if min(times) > worst:
            worst, which = min(times), name
    yield HOSTILE.name, once(worst, f"slowest of {len(HOSTILE_TEXTS)} (best of 3 each): {which}")
    fresh = [f"{TEXT} && node.tasks < {number}" for number in range(50)]
    yield COMPILE.name, middle([_timed_ms(lambda text=text: NodeProgram(text, parse(text))) for text in fresh], "texts")  # type: ignore[misc]


def _refused(text: str) -> None:
    forget()
    try:
        NodeProgram(text, parse(text))
    except ExpressionError:
        return
    if text != HOSTILE_TEXTS["a thousand words"]:
        raise RuntimeError(f"was accepted: {text[:60]}")
