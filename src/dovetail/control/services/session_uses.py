"""When the sessions of browsers were last used, and by which browser.

Kept in memory only: a restart forgets it, and writing at every request would cost more than it is worth. Of what a
browser says about itself only known words are kept, so nothing that it sends comes into an answer.
"""

from dataclasses import dataclass

# The first that is found: others of the list say that they are the later ones, too.
_BROWSERS = (("Firefox/", "Firefox"), ("Edg/", "Edge"), ("OPR/", "Opera"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iOS"), ("Windows", "Windows")),
    *(("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


@dataclass(frozen=True, slots=True)
class SessionUse:
    at: float
    browser: str


class SessionUses:
    """By the digest of the session's token."""

    def __init__(self) -> None:
        self._last: dict[str, SessionUse] = {}

    def note(self, digest: str, agent: str, now: float) -> None:
        self._last[digest] = SessionUse(now, browser_of(agent))

    def last(self, digest: str) -> SessionUse | None:
        return self._last.get(digest)

    def forget(self, digest: str) -> None:
        self._last.pop(digest, None)


def browser_of(agent: str) -> str:
    """`Firefox on Linux`; empty for what is no browser that people use."""
    browser = next((name for word, name in _BROWSERS if word in agent), "")
    system = next((name for word, name in _SYSTEMS if word in agent), "")
    return " on ".join(part for part in (browser, system) if part)
