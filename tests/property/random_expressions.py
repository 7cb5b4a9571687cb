"""Random expressions that pass the checker, and random nodes to ask them of, seeded.

Values are drawn from few, so that labels are often equal, often missing and often no numbers; numbers reach to the ends
of what 64 bits and doubles hold, so that overflow, division by zero and rounding all happen.
"""

import random
from collections.abc import Callable

from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.selection import Taint

MIG = "nvidia.com/mig-1g.5gb"
LABELS = ("zone", "rack", "gen", "speed", "on", "a/b")
TEXTS = ("a", "b", "ab", "", "5", "-7", "y5", "7.5", "true", "1e3", " 5", "ä", "5\\n", "aaaa", "inf", "0")
VALUES = tuple(text for text in TEXTS if "\\" not in text)  # a label is one line of plain text
INTS = (
    *(0, 1, 2, -1, 3, 5, 7, -7, 64, 1000, 10**12, 2**31, 2**40, 2**53, 2**53 + 1, -(2**53) - 1),
    *(2**62, 2**63 - 1, -(2**63), -(2**63) + 1),
)
DOUBLES = (
    "0.0",
    "1.0",
    "0.5",
    "-2.5",
    "2.0",
    "1e300",
    "-1e300",
    "9007199254740992.0",
    "9.223372036854775807e18",
    "1e-7",
)
PATTERNS = ("a+", "^a", "b$", "^(a+)+$", "[0-9]", "", ".", "^$", "a|5", "(?i)A")
TAINTS = ("[]", '["a"]', '["a", "b"]')
AMOUNTS = ("free", "capacity", "allocated", "observed", "forecast")


def random_nodes(chance: random.Random, count: int) -> list[Node]:
    return [
        Node(
            name=chance.choice(("a", "ab", "n")) + str(i),
            backend=chance.choice(("local", "registered")),
            capacity=Capacity.model_validate(
                {
                    "cpu": chance.choice((0, 0.5, 2, 4, 64)),
                    "memory": chance.choice((0, 5, 2**30, 64 * 2**30, 2**53)),
                    "disk": chance.choice((0, 10**12)),
                    "gpu": chance.choice((0, 1, 8)),
                    "slots": chance.choice((1, 5, 110)),
                    MIG: chance.choice((0, 3, 7)),
                }
            ),
            labels={key: chance.choice(VALUES) for key in LABELS if chance.random() < 0.7},
            taints=[
                Taint(key=key, value="", effect="NoSchedule")
                for key in ("a", "b", "dedicated")
                if chance.random() < 0.3
            ],
        )
        for i in range(count)
    ]


class Expressions:
    """`condition()` gives the text of one; deeper ones nest more operators."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._depth = 0
        self._variables: list[str] = []

    def condition(self) -> str:
        self._depth = self._chance.choice((1, 2, 2, 3, 3, 4))
        return self._bool()

    def _pick(self, ways: list[Callable[[], str]], plain: list[Callable[[], str]]) -> str:
        if self._depth <= 0 or self._chance.random() < 0.1:
            return self._chance.choice(plain)()
        self._depth -= 1
        try:
            return self._chance.choice(ways)()
        finally:
            self._depth += 1

    def _bool(self) -> str:
        pick = self._chance.choice
        compare = [lambda kind=kind: self._compared(kind) for kind in ("string", "mixed", "double", "bool", "int")]
        return self._pick(
            [
                *compare,
                lambda: pick((" && ", " || ")).join(f"({self._bool()})" for _ in range(pick((2, 2, 3)))),
                lambda: f"{self._bool()} {pick(('&&', '||'))} {self._bool()} {pick(('&&', '||'))} {self._bool()}",
                lambda: f"!({self._bool()})",
                lambda: f"({self._bool()} ? {self._bool()} : {self._bool()})",
                lambda: f"({self._string()} in [{self._several(self._string)}])",
                lambda: f"({self._int()} in [{self._several(self._int)}])",
                lambda: f"({self._string()} in node.taints)",
                lambda: f"{self._string()}.{pick(('startsWith', 'endsWith', 'contains'))}({self._string()})",
                lambda: f'{self._string()}.matches("{pick(PATTERNS)}")',
                lambda: f"bool({self._string()})",
                self._macro,
            ],
            [
                lambda: pick(("true", "false")),
                lambda: f"has(node.labels.{pick(LABELS[:-1])})",
                lambda: f'("{pick(LABELS)}" in node.labels)',
                lambda: f"(node.taints {pick(('==', '!='))} {pick(TAINTS)})",
                lambda: f"bool({self._label()})",
            ],
        )

    def _compared(self, kind: str) -> str:
        operator = self._chance.choice(("==", "!=", "<", "<=", ">", ">="))
        if kind == "mixed":
            sides = [self._exact_int(), self._double()]
            self._chance.shuffle(sides)
            return f"({sides[0]} {operator} {sides[1]})"
        make = {"string": self._string, "double": self._double, "bool": self._bool, "int": self._int}[kind]
        return f"({make()} {operator} {make()})"

    def _several(self, make: Callable[[], str]) -> str:
        return ", ".join(make() for _ in range(self._chance.randint(0, 3)))

    def _macro(self) -> str:
        variable = f"v{len(self._variables)}"
        items = ", ".join(f'"{self._chance.choice(TEXTS)}"' for _ in range(self._chance.randint(0, 3)))
        name = self._chance.choice(("all", "exists", "exists_one"))
        self._variables.append(variable)
        try:
            return f"[{items}].{name}({variable}, {self._bool()})"
        finally:
            self._variables.pop()

    def _exact_int(self) -> str:
        """One that a double holds: beyond that, others round before they compare, and the specification does not."""
        pick = self._chance.choice
        written = str(pick([one for one in INTS if abs(one) <= 2**53]))
        return pick((written, f"node.{pick(AMOUNTS)}.memory", "node.tasks", f"size({self._string()})"))

    def _int(self) -> str:
        pick = self._chance.choice
        return self._pick(
            [
                lambda: f"({self._int()} {pick('+-*/%')} {self._int()})",
                lambda: f"(-({self._int()}))",
                lambda: f"int({self._string()})",
                lambda: f"int({self._double()})",
                lambda: f"size({self._string()})",
                lambda: f"GiB({self._int()})",
                lambda: f"({self._bool()} ? {self._int()} : {self._int()})",
                lambda: "size([1, 2, 3].filter(x, x > node.tasks))",
            ],
            [
                lambda: str(pick(INTS)),
                lambda: f"node.{pick(AMOUNTS)}.{pick(('memory', 'disk', 'slots'))}",
                lambda: f'node.{pick(AMOUNTS)}["{MIG}"]',
                lambda: f"int({self._label()})",
                lambda: f"{pick(('node.tasks', 'size(node.taints)', 'size(node.labels)'))}",
            ],
        )

    def _double(self) -> str:
        pick = self._chance.choice
        return self._pick(
            [
                lambda: f"({self._double()} {pick('+-*/')} {self._double()})",
                lambda: f"(-({self._double()}))",
                lambda: f"double({self._string()})",
                lambda: f"double({self._int()})",
                lambda: f"({self._bool()} ? {self._double()} : {self._double()})",
            ],
            [
                lambda: pick(DOUBLES),
                lambda: f"node.{pick(AMOUNTS)}.{pick(('cpu', 'gpu'))}",
                lambda: f"node.utilisation.{pick(('cpu', 'memory', 'slots'))}",
                lambda: "node.load",
                lambda: f"double({self._label()})",
            ],
        )

    def _string(self) -> str:
        pick = self._chance.choice
        return self._pick(
            [
                lambda: f"({self._string()} + {self._string()})",
                lambda: f"string({self._int()})",
                # Not of any double: how "not a number" is written differs.
                lambda: f"string({pick((*DOUBLES, 'node.free.cpu', 'node.utilisation.memory', 'node.load'))})",
                lambda: f"string({self._bool()})",
                lambda: f"({self._bool()} ? {self._string()} : {self._string()})",
            ],
            [
                self._label,
                self._label,
                lambda: f'"{pick(TEXTS)}"',
                lambda: pick(("node.name", "node.backend")),
                lambda: pick(self._variables) if self._variables else self._label(),
            ],
        )

    def _label(self) -> str:
        key = self._chance.choice(LABELS)
        return f'node.labels["{key}"]' if "/" in key or self._chance.random() < 0.5 else f"node.labels.{key}"
