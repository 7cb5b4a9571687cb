"""`dovetail what-if`: what changes would make different, worked out by the server on a copy of its state."""

from typing import Annotated, Any

from dovetail.cli import render
from dovetail.cli.simulate.change_options import AddNodes, CancelWork, Fail, RemoveNode, changes_of, profile_of
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import read_file
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.terminal.server import Url, connect

TIMEOUT_S = 300.0


def command(
    file: Annotated[
        str | None, Option("--file", "-f", metavar="FILE|-", help="The changes; options here add to them.")
    ] = None,
    add_nodes: AddNodes = [],  # noqa: B006 - the parser wants the default itself and never changes it
    remove_node: RemoveNode = [],  # noqa: B006
    fail: Fail = [],  # noqa: B006
    cancel: CancelWork = [],  # noqa: B006
    profile: Annotated[
        str | None, Option("--profile", "-p", metavar="NAME|FILE", help="With this one as the default profile.")
    ] = None,
    horizon: Annotated[str | None, Option(metavar="DURATION", help="How far to look ahead.  [default: 6h]")] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """What would be different with other nodes, other work or another profile. Nothing is changed.

    The server copies its state and lets two futures happen on a virtual clock, one with the changes and one without. A
    file may have workloads (new ones, or live ones edited), cancel, remove_nodes, add_nodes, fail, profile, horizon.
    """
    changes = _read(file)
    for name, values in changes_of(add_nodes, remove_node, fail, cancel).items():
        changes[name] = [*changes.get(name, []), *values]
    if profile is not None:
        changes["profile"] = profile_of(profile)
    if horizon is not None:
        changes["horizon"] = horizon
    if not changes.keys() - {"horizon", "seed"}:
        words = "say what is different: --remove-node, --add-nodes, --fail, --cancel, --profile, or -f FILE"
        raise Failure(words, ExitCode.USAGE)
    with status_line("simulating both futures"), connect(url, TIMEOUT_S) as client:
        answer = client.what_if(changes)
    show(answer, output, lambda wide: render.what_if.what_if(answer, wide))


def _read(file: str | None) -> dict[str, Any]:
    """The content of the file as plain data; the server says what is wrong with it."""
    if file is None:
        return {}
    import yaml

    try:
        data = yaml.safe_load(read_file(file))
    except yaml.YAMLError as error:
        raise Failure(f"{file}: is not YAML: {str(error).splitlines()[0]}", ExitCode.USAGE) from None
    if not isinstance(data, dict):
        raise Failure(f"{file}: holds no mapping; write remove_nodes: [NODE] or the like", ExitCode.USAGE)
    return data
