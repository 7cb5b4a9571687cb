"""`--report FILE.html`: the option, and writing the page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.output import say
from dovetail.cli.terminal.parameters import Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dovetail.reports.comparison import ReportRun

ReportFile = Annotated[
    Path | None, Option("--report", metavar="FILE.html", help="Also write a page with plots, in one file.")
]


def write_page(path: Path, html: str) -> None:
    """Raises Failure."""
    try:
        path.write_text(html, encoding="utf-8")
    except OSError as error:
        raise Failure(f"--report: {path} cannot be written: {error.strerror or error}", ExitCode.USAGE) from None
    say(f"report: {path}")


def write_report(path: Path, title: str, runs: "Sequence[ReportRun]", about: str = "") -> None:
    """Runs side by side. Raises Failure."""
    from dovetail.reports.sweep_report import sweep_report

    write_page(path, sweep_report(title, runs, about))
