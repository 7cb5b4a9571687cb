"""Device selectors: our CEL program beside Google's library, on selectors that both can evaluate
(`docs/decisions/0008-device-selectors.md`). The device is already converted for either side."""

from collections.abc import Callable, Iterator
from time import perf_counter

from cel_expr_python import cel  # type: ignore[import-untyped]

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import quiet
from dovetail.kubernetes.devices.cel_program import program

RATIO = at_most("kubernetes.selector_beside_google", 2.0, "times theirs")
DRIVER = "dra.example.com"
ATTRIBUTES = f'device.attributes["{DRIVER}"]'
SELECTORS = (
    f'device.driver == "{DRIVER}"',
    f'{ATTRIBUTES}.model == "A100-SXM4 80GB" && {ATTRIBUTES}.index > 0',
    f'{ATTRIBUTES}.model.startsWith("A100") && device.attributes["other.io"].numa == 0',
)
FIELDS = {"device": frozenset({"driver", "attributes"})}
DEVICE = {
    "driver": DRIVER,
    "attributes": {DRIVER: {"model": "A100-SXM4 80GB", "index": 3}, "other.io": {"numa": 0}},
}
TIMES, ROUNDS = 5000, 5


@benchmark(RATIO)
def selectors(bench: Bench) -> Iterator[tuple[str, Measured]]:
    environment = cel.NewEnv(variables={"device": cel.Type.DYN})
    activation = environment.Activation({"device": DEVICE})
    ours = [program(text, FIELDS) for text in SELECTORS]
    theirs = [environment.compile(text) for text in SELECTORS]
    assert all(run({"device": DEVICE}) is True for run in ours)
    assert all(run.eval(activation).value() is True for run in theirs)
    ratios = []
    for _ in range(ROUNDS):
        with quiet():
            own_us = _us(lambda: [run({"device": DEVICE}) for run in ours])
            their_us = _us(lambda: [run.eval(activation).value() for run in theirs])
        bench.say(f"a selector: ours {own_us:.1f} us, cel-expr-python {their_us:.1f} us")
        ratios.append(own_us / their_us)
    yield RATIO.name, Measured(min(ratios), min(ratios), max(ratios), f"best of {ROUNDS}")


def _us(evaluate: Callable[[], object]) -> float:
    began = perf_counter()
    for _ in range(TIMES):
        evaluate()
    return (perf_counter() - began) * 1e6 / TIMES / len(SELECTORS)
