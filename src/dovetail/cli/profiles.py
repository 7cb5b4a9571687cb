"""`dovetail profiles`: list them, and preview how the last decisions would have been with another one."""

from typing import Annotated

from dovetail.cli import render
from dovetail.cli.simulate.change_options import profile_of
from dovetail.cli.terminal.default_action import default_group
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.terminal.server import Url, connect

TIMEOUT_S = 300.0

command = default_group("Profiles and schedulers of the server, and what another profile would have decided.")


@command.action("list")
def list_profiles(output: Output = Format.TABLE, url: Url = None) -> None:
    """Profiles with their weights, and the schedulers that use them."""
    with connect(url) as client:
        answer = client.profiles()
    show(answer, output, lambda wide: render.profiles.profile_list(answer, wide))


@command.action("preview")
def preview(
    profile: Annotated[str, Argument(metavar="PROFILE", help="A name, or a YAML file with scores and the like.")],
    last: Annotated[int | None, Option(metavar="N", min=1, help="So many decisions.  [default: 100]")] = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """How the last decisions would have been with this profile as the default one. Nothing is changed.

    Looked at are tasks that still hold their nodes. Each is decided again on the cluster as it was for it, without
    what has ended meanwhile.
    """
    with status_line("deciding again"), connect(url, TIMEOUT_S) as client:
        answer = client.preview_profile(profile_of(profile), last)
    show(answer, output, lambda wide: render.what_if.preview(answer, wide))
