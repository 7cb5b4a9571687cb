"""What a command takes, written in its signature:

    def cordon(node: Annotated[str, Argument(metavar="NODE", help="The node.")], url: Url = None) -> None: ...

`commands` makes options and arguments of them. A parameter without a default must be given. An option without a name
is called as its parameter: `dry_run` is `--dry-run`.
"""

from collections.abc import Callable, Sequence
from typing import Any

#: By metavar: whose names a shell offers, a kind of `Client.names`.
NAMES_OF = {
    "BACKEND": "backends",
    "NAMESPACE": "namespaces",
    "NODE": "nodes",
    "NODE...": "nodes",
    "POLICY": "policies",
    "PROFILE": "profiles",
    "QUEUE": "queues",
    "WORKLOAD": "workloads",
}


class Parameter:
    """`min` and `max` limit a number. `callback` takes the value and returns the one to use, or raises
    `click.BadParameter`. A shell that completes it offers `words`, and names that the server knows: of the kind
    `completes`, or of the one that the metavar says (`NAMES_OF`)."""

    def __init__(
        self,
        *names: str,
        metavar: str | None = None,
        help: str = "",  # noqa: A002 - as argparse and Click call it
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        callback: Callable[[Any], Any] | None = None,
        show_default: bool = True,
        is_eager: bool = False,
        completes: str | None = None,
        words: Sequence[str] = (),
    ) -> None:
        self.names = names
        self.metavar = metavar
        self.help = help
        self.min, self.max = min, max
        self.callback = callback
        self.show_default = show_default
        self.is_eager = is_eager
        self.completes = completes or NAMES_OF.get(metavar or "")
        self.words = words


class Option(Parameter):
    """`--name VALUE`; a flag where its type is bool; repeatable where its type is a list."""


class Argument(Parameter):
    """A word without a name; any number of words where its type is a list."""
