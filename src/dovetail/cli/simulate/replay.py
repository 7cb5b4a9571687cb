"""`dovetail replay`: a recorded day decided again, as it was and as another profile would have decided."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.simulate.report_file import ReportFile, write_page
from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.files import read_file
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.past import ACCEPTED, Since, past_moment
from dovetail.cli.terminal.screen import status_line
from dovetail.cli.terminal.server import Url, connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from dovetail.replaying.day import RecordedDay, SegmentTime
    from dovetail.replaying.summary import ReplaySummary

RECORDINGS = "recordings"
LISTED = 20
WIDE_LISTED = 1000
TELL_EVERY_S = 0.1


def replay(
    profile: Annotated[
        str | None, Option("--profile", "-p", metavar="PROFILE", help="Also decide by this profile, and compare.")
    ] = None,
    since: Since = None,
    until: Annotated[str | None, Option(metavar="TIME", help=f"Until when: {ACCEPTED}.")] = None,
    data: Annotated[
        Path | None, Option("--data", metavar="DIR", help="Read the recordings in a data folder, not from a server.")
    ] = None,
    report: ReportFile = None,
    url: Url = None,
    output: Output = Format.TABLE,
) -> None:
    """Decide a recorded day again, decision by decision.

    The server records what its scheduler hears. First every decision is made again and compared with the recorded one.
    With --profile the same arrivals, failures and run times are then played with another profile: which tasks would
    have been placed elsewhere, why, and what that would have changed. Nothing of the server is changed.
    """
    from dovetail.replaying.reproduction import reproduce
    from dovetail.replaying.summary import ReplaySummary

    now = time.time()
    day = _day(data, url, past_moment("--since", since, now) or 0.0, past_moment("--until", until, now) or now)
    with _progress(day, "as it was") as tell:
        found = ReplaySummary(day, reproduce(day, tell))
    if profile is not None:
        with _progress(day, profile) as tell:
            found = _with_profile(found, profile, tell)
    answer = found.to_dict()
    show(answer, output, lambda wide: render.replays.replay(answer, WIDE_LISTED if wide else LISTED))
    if report is not None:
        from dovetail.reports.replay_page import replay_page

        write_page(report, replay_page(answer, found.figures()))


def _with_profile(found: "ReplaySummary", profile: str, tell: "Callable[[float], None]") -> "ReplaySummary":
    from dovetail.replaying.summary import NoSuchProfile, with_profile

    try:
        return with_profile(found.day, found.found, profile, tell)
    except NoSuchProfile as error:
        raise Failure(f"--profile: {error}", ExitCode.USAGE) from None


def _day(data: Path | None, url: str | None, since: float, until: float) -> "RecordedDay":
    from dovetail.recordings.segment import NotASegment, read_segment
    from dovetail.replaying.day import NothingRecorded, RecordedDay, needed

    files, read = _from_folder(data) if data is not None else _from_server(url)
    try:
        segments = [read_segment(read(one.name), one.name) for one in needed(files, since, until)]
    except (NothingRecorded, NotASegment) as error:
        raise Failure(str(error), ExitCode.NOT_FOUND) from None
    return RecordedDay(segments, since, until)


def _from_folder(data: Path) -> "tuple[list[SegmentTime], Callable[[str], bytes]]":
    from dovetail.recordings.segment import SUFFIX, time_of
    from dovetail.replaying.day import SegmentTime

    folder = data / RECORDINGS if (data / RECORDINGS).is_dir() else data
    if not folder.is_dir():
        raise Failure(f"--data: {data} is no folder", ExitCode.USAGE)
    files = [SegmentTime(one.name, time_of(one.name)) for one in folder.glob(f"*{SUFFIX}")]
    return files, lambda name: read_file(folder / name)


def _from_server(url: str | None) -> "tuple[list[SegmentTime], Callable[[str], bytes]]":
    from dovetail.replaying.day import SegmentTime

    def read(name: str) -> bytes:
        with connect(url) as client:
            return client.recording(name)

    with connect(url) as client:
        files = [SegmentTime(row["name"], row["at"]) for row in client.recordings()]
    return files, read


@contextmanager
def _progress(day: "RecordedDay", what: str) -> "Iterator[Callable[[float], None]]":
    """A bar on stderr, drawn at most ten times a second."""
    told_at = 0.0
    with status_line(what) as say_how_far:

        def tell(at: float) -> None:
            nonlocal told_at
            if time.monotonic() - told_at > TELL_EVERY_S:
                told_at = time.monotonic()
                share = (at - day.begins) / max(day.ends - day.begins, TELL_EVERY_S)
                say_how_far(render.replays.progress(what, share))

        yield tell
