"""Which nodes a command means: by name, by labels as kubectl writes them, by state.

`zone=east,disk!=hdd`, `gpu` (the label is there), `!gpu` (it is not), `rack in (r1, r2)`, `rack notin (r3)`; all must
hold.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import check_name
from dovetail.model.text.listing import first_of

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.nodes import NodeRow

Matches = Callable[[dict[str, str]], bool]

Nodes = Annotated[
    list[str] | None, Argument(metavar="NODE", callback=check_name, help="The nodes; or choose them with -l.")
]
Selector = Annotated[
    str | None,
    Option("--selector", "-l", metavar="LABELS", help="Nodes with these labels: zone=east,disk!=hdd,gpu."),
]


def chosen_nodes(client: "Client", names: Sequence[str] | None, selector: str | None) -> list[str]:
    """The names as given, or those of the nodes that the selector chooses. Raises Failure if none is chosen."""
    if bool(names) == bool(selector):
        words = "say which nodes: their names, or labels with -l zone=east"
        raise Failure(words if not names else f"{words}, not both", ExitCode.USAGE)
    if names:
        return list(dict.fromkeys(names))
    matches = read_selector(selector or "")
    found = [row["name"] for row in client.nodes() if matches(row["labels"])]
    if not found:
        raise Failure(f"no node has the labels {selector}; dovetail nodes -o wide shows labels", ExitCode.NOT_FOUND)
    return found


def in_state(rows: "Iterable[NodeRow]", state: str | None) -> "list[NodeRow]":
    """Those of the state, which is a word of the column STATUS."""
    rows = list(rows)
    if state is None:
        return rows
    known = sorted({"online", "offline", "cordoned", "drained", "quarantined"} | {row["status"] for row in rows})
    if state not in known:
        from dovetail.model.text.strict import closest

        raise Failure(
            f"--state {state}: no such state.{closest(state, known)} Known: {first_of(known, most=10)}", ExitCode.USAGE
        )
    return [row for row in rows if row["status"] == state]


def read_selector(text: str) -> Matches:
    """Whether labels satisfy the selector. Raises Failure for what is none."""
    terms = [_term(part.strip(), text) for part in _parts(text)]
    return lambda labels: all(term(labels) for term in terms)


def _parts(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return found


def _term(part: str, text: str) -> Matches:
    words = part.replace("(", " (").split(None, 2)
    if len(words) == 3 and words[1] in ("in", "notin") and words[2].startswith("(") and words[2].endswith(")"):
        key, wanted = words[0], {value.strip() for value in words[2][1:-1].split(",")}
        return _one_of(key, wanted) if words[1] == "in" else _none_of(key, wanted)
    if "!=" in part:
        key, _, value = part.partition("!=")
        return _none_of(_key(key, text), {value.strip()})
    if "=" in part:
        key, _, value = part.partition("=")
        return _one_of(_key(key, text), {value.removeprefix("=").strip()})
    if part.startswith("!"):
        missing = _key(part[1:], text)
        return lambda labels: missing not in labels
    present = _key(part, text)
    return lambda labels: present in labels


def _one_of(key: str, values: set[str]) -> Matches:
    return lambda labels: labels.get(key) in values


def _none_of(key: str, values: set[str]) -> Matches:
    """Nodes without the label are meant, too, as in Kubernetes."""
    return lambda labels: labels.get(key) not in values


def _key(word: str, text: str) -> str:
    word = word.strip()
    if not word or any(letter.isspace() or letter in "()!=" for letter in word):
        accepted = "write labels such as zone=east, disk!=hdd, gpu, !gpu, rack in (r1,r2), joined by commas"
        raise Failure(f"-l {text}: cannot be read; {accepted}", ExitCode.USAGE)
    return word
