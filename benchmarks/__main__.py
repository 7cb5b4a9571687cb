"""`python -m benchmarks [--only PATTERN] [--out FILE] [--data DIR] [--seeds N] [--list]`.

The table goes to stdout, progress to stderr, the figures to the file, which is brought up to date after each
benchmark. Exit status: 0 when everything ran or was reported as not run, whether or not the bars were met (a missed
bar prints ✗: how fast a machine is decides it, so it is for people to judge); 1 when a benchmark failed; 2 for usage.
"""

import argparse
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.catalogue import load
from benchmarks.harness import REGISTRY, SEEDS, Bench, Figure, matches
from benchmarks.report import print_table, write_json

OUT = Path("build/bench.json")


def main(arguments: list[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    failures = load()
    names = [name for name in REGISTRY.names if matches(name, asked.only)]
    if asked.list:
        print("\n".join(names))
        return 1 if failures else 0
    if not names and not failures:
        print(f"no benchmark matches {asked.only!r}; there are: {', '.join(REGISTRY.names)}", file=sys.stderr)
        return 2
    figures: list[Figure] = []
    try:
        for more in REGISTRY.run(Bench(scratch=asked.out.parent, data=asked.data, seeds=asked.seeds), asked.only):
            figures += more
            write_json(asked.out, figures)
    except KeyboardInterrupt:
        print("interrupted; these were measured before:", file=sys.stderr)
        failures.append("interrupted")
    print_table(figures, Console())
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures or any(figure.error for figure in figures) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Dovetail against its bars.")
    parser.add_argument("--only", metavar="PATTERN", help="names that match: a part of the name, or a glob")
    parser.add_argument("--out", metavar="FILE", type=Path, default=OUT, help="default: %(default)s")
    parser.add_argument("--data", metavar="DIR", type=Path, help="recorded data, for the benchmarks that need it")
    parser.add_argument("--seeds", metavar="N", type=int, default=SEEDS, help="of those that repeat by chance")
    parser.add_argument("--list", action="store_true", help="print the names and leave")
    return parser


if __name__ == "__main__":
    sys.exit(main())
