"""`dovetail open`: the dashboard in the browser, logged in."""

import os
import sys
from typing import Annotated
from urllib.parse import quote

import click

from dovetail.cli.terminal.parameters import Argument, Option
from dovetail.cli.terminal.server import Namespace, Url, check_name, connect


def command(
    name: Annotated[str | None, Argument(metavar="WORKLOAD", callback=check_name, help="Its page.")] = None,
    browser: Annotated[bool, Option("--browser/--no-browser", help="Open a browser where there is a screen.")] = True,
    namespace: Namespace = None,
    url: Url = None,
) -> None:
    """Print a link that logs a browser in to the dashboard, and open it where there is a screen.

    The link works once, within five minutes. `dovetail open WORKLOAD` opens the page of that workload.
    """
    with connect(url) as client:
        page = "/"
        if name is not None:
            row = client.named(name, namespace)["workloads"][0]
            page = f"/workload/{quote(row['namespace'], safe='')}/{quote(row['name'], safe='')}"
        path, _, token = client.login_link()["path"].partition("#")
        link = f"{client.url}{path}?next={quote(page, safe='')}#{token}"
    click.echo(link)
    click.echo("It works once, within five minutes.", err=True)
    if browser and _has_screen():
        import webbrowser

        webbrowser.open(link)


def _has_screen() -> bool:
    shows = sys.platform == "darwin" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return sys.stdout.isatty() and shows
