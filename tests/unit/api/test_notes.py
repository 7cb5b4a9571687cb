"""Notes are one line, of bounded length, and are kept as they were written."""

from collections.abc import Iterator

import pytest
from tests.unit.api.server import serving, settings_in

from dovetail.client import Client, DovetailError


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as url, Client(url) as found:
        yield found


@pytest.mark.parametrize("text", ["a", "x" * 200, "Wartung: Überlauf – 日本語 <b>", "\u200bx"])
def test_a_note_is_kept_as_it_was_written(client: Client, text: str) -> None:
    written = client.note(text)
    [row, *_] = client.event_page(kinds=["note"], newest=True)["items"]
    assert (row["at"], row["message"], row["workload"]) == (written["at"], text, None)


@pytest.mark.parametrize("text", ["", "   ", "two\nlines", "bell\x07", "\x9b31m", "\x00", "x" * 201])
def test_what_is_no_line_is_refused(client: Client, text: str) -> None:
    before = client.event_page(kinds=["note"])["items"]
    with pytest.raises(DovetailError, match="text"):
        client.note(text)
    assert client.event_page(kinds=["note"])["items"] == before
