"""Which browser a session is of, in known words only."""

import pytest

from dovetail.control.services.session_uses import SessionUses, browser_of

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"


@pytest.mark.parametrize(
    ("agent", "browser"),
    [
        (CHROME, "Chrome on Linux"),
        (f"{CHROME} Edg/126.0", "Edge on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0", "Firefox on Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile/15E148 Safari/604.1",
            "Safari on iOS",
        ),
        ("<img src=x onerror=alert(1)>", ""),
        ("", ""),
    ],
)
def test_a_browser_is_named_in_known_words(agent: str, browser: str) -> None:
    assert browser_of(agent) == browser


def test_the_last_use_is_kept_until_the_session_ends() -> None:
    uses = SessionUses()
    uses.note("digest", CHROME, 5.0)
    uses.note("digest", CHROME, 7.0)
    last = uses.last("digest")
    assert last is not None
    assert last.at == 7.0
    uses.forget("digest")
    assert uses.last("digest") is None
