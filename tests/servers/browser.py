"""A real browser, logged in to a live server, which notes everything that a page must not do."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from dovetail.client import Client

_PROGRAMS = ("chromium-headless-shell", "chromium")  # without windows it needs a third less time
NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
MOST_LOGINS = 10
PATIENCE_MS = 60_000  # of `expect`: on a busy machine Playwright's own five seconds are little
_OPTIONS = [
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]


def missing() -> str:
    """What is missing to run a browser here; empty if nothing is."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the package playwright is missing"
    return "" if program() else "the program chromium is missing (Debian: chromium-headless-shell)"


def program() -> str | None:
    """Where Chromium is; None where there is none."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


@dataclass
class Faults:
    """What a page must not do. `allowed`: parts of messages that a test expects, such as those of a stopped server."""

    found: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """Requests that got no answer, for the words of a test that fails."""
    network_changes: int = 0
    """How often Chromium gave up a request because another test brought a network interface up or down."""

    def add(self, words: str) -> None:
        if NETWORK_CHANGED in words:
            self.network_changes += 1
        elif not any(one in words for one in self.allowed):
            self.found.append(words)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, as long as the block runs; skips the test where there is none."""
    if why := missing():
        pytest.skip(why)
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program(), args=_OPTIONS)
        try:
            yield started
        finally:
            started.close()


@contextmanager
def page_of(
    started: Any,
    client: Client,
    path: str = "/",
    *,
    width: int = 1440,
    height: int = 900,
    dark: bool = False,
    script: str | None = None,
) -> Iterator[tuple[Any, Faults]]:
    """A page of the dashboard of this client's server, logged in by a link; checks at the end that it did nothing that
    it must not do. `script`: a file that is run before everything else, as a browser's extension is."""
    scheme = "dark" if dark else "light"
    context = started.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-GB", ignore_https_errors=True
    )
    faults = Faults()
    try:
        if script is not None:
            context.add_init_script(path=script)
        page = context.new_page()
        watch(page, faults, client.url)
        _log_in(page, client, path, faults)
        yield page, faults
        assert faults.found == []
    finally:
        context.close()


def _log_in(page: Any, client: Client, path: str, faults: Faults) -> None:
    """Again, if that was interrupted: a page whose scripts did not come stays empty."""
    from playwright.sync_api import Error

    for _ in range(MOST_LOGINS):
        faults.network_changes = 0
        link, _, token = client.login_link()["path"].partition("#")
        try:
            page.goto(f"{client.url}{link}?next={quote(path, safe='')}#{token}")
        except Error as error:
            if NETWORK_CHANGED not in str(error):
                raise
            continue
        if _is_shown(page, faults):
            return
        page.goto("about:blank")  # another token alone, behind the #, would not load the page again
    raise AssertionError(f"{path} was interrupted {MOST_LOGINS} times by changes of the network; {faults.found}")


def _is_shown(page: Any, faults: Faults) -> bool:
    """False if the network changed before it was."""
    from playwright.sync_api import TimeoutError as TooLong

    gives_up_at = time.monotonic() + PATIENCE_MS / 1000
    while True:
        try:
            page.wait_for_selector("#main[aria-busy=false]:not(:has(> .empty[role=alert]))", timeout=5000)
            return True
        except TooLong:
            if faults.network_changes:
                return False
            if time.monotonic() > gives_up_at:
                seen = page.locator("body").inner_text()
                raise AssertionError(f"{page.url} was not shown in time; it says {seen!r}; {faults}") from None


def watch(page: Any, faults: Faults, url: str) -> None:
    own = urlsplit(url).netloc
    page.on("console", lambda said: faults.add(f"console: {said.text}") if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.add(f"error: {error}"))
    page.on("dialog", lambda dialog: faults.add(f"dialog: {dialog.message}"))

    def requested(request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != own:
            faults.add(f"a request to another host: {request.url}")

    def failed(request: Any) -> None:  # of which the console does not always tell
        faults.network_changes += NETWORK_CHANGED in (request.failure or "")
        faults.failed.append(f"{urlsplit(request.url).path}: {request.failure}")

    page.on("request", requested)
    page.on("requestfailed", failed)
