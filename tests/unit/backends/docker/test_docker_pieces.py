"""The pure pieces: output in frames, labels of images, logins, use, retention, a host as a node, the journal."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.backends.attempt_journal import Journal, State
from dovetail.backends.docker.container_use import memory_in_use_bytes, processor_time_s
from dovetail.backends.docker.engine_api import FRAME_HEADER, unframed
from dovetail.backends.docker.images import labels_of_images, login_for
from dovetail.backends.docker.node import describe
from dovetail.backends.docker.settings import HostSettings, Registry
from dovetail.backends.log_streams import LogStreams, whole_characters


async def _pieces(content: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(content), size):
        yield content[at : at + size]


def framed(*contents: bytes) -> bytes:
    return b"".join(FRAME_HEADER.pack(1 + i % 2, len(content)) + content for i, content in enumerate(contents))


@given(contents=st.lists(st.binary(max_size=40), max_size=8), size=st.integers(1, 60))
def test_frames_are_taken_apart_however_they_arrive(contents: list[bytes], size: int) -> None:
    async def read() -> bytes:
        return b"".join([block async for block in unframed(_pieces(framed(*contents), size))])

    assert asyncio.run(read()) == b"".join(contents)


@given(text=st.text(max_size=60), limit=st.integers(1, 20), size=st.integers(1, 60))
def test_output_read_in_pieces_is_the_output(text: str, limit: int, size: int) -> None:
    content = text.encode("utf-8", "replace")

    async def read() -> str:
        outputs = LogStreams()
        offset, found, over = 0, b"", False
        while not over:
            chunk, over = await outputs.read("c", offset, limit, lambda: unframed(_pieces(framed(content), size)))
            assert chunk.next_offset >= offset
            found += content[offset : chunk.next_offset]
            if limit >= 4:
                assert chunk.text == content[offset : chunk.next_offset].decode()
            offset = chunk.next_offset
        await outputs.close()
        return found.decode()

    assert asyncio.run(read()) == content.decode()


def test_a_place_beyond_the_end_stays_where_it_is() -> None:
    async def read() -> None:
        outputs = LogStreams()
        chunk, over = await outputs.read("c", 50, 10, lambda: unframed(_pieces(framed(b"short"), 9)))
        assert (chunk.text, chunk.next_offset, over) == ("", 50, True)
        await outputs.close()

    asyncio.run(read())


def test_characters_are_not_cut_in_two() -> None:
    assert whole_characters("aß".encode()[:2]) == b"a"
    assert whole_characters("aß".encode()) == "aß".encode()
    assert whole_characters(b"\xff\xfe") == b"\xff\xfe"


def test_images_become_labels_newest_first_and_in_one_spelling() -> None:
    images = [
        {"Created": 1, "RepoTags": ["old:1"]},
        {
            "Created": 3,
            "RepoTags": ["docker.io/library/new:latest", "r.example/new:2"],
            "RepoDigests": ["new@sha256:ab"],
        },
        {"Created": 2, "RepoTags": ["<none>:<none>"], "RepoDigests": None},
    ]
    assert set(labels_of_images(images, 2)) == {"image/new:latest", "image/r.example/new:2", "image/new@sha256:ab"}
    assert "image/old:1" in labels_of_images(images, 3)


def test_a_login_goes_to_the_registry_that_it_is_for() -> None:
    known = {
        "r.example:5000": Registry.model_validate({"username": "ann", "password": "secret"}),
        "docker.io": Registry.model_validate({"username": "hub", "password": "secret"}),
    }
    here = login_for("r.example:5000/team/tool:1", known)
    assert here is not None
    said = json.loads(base64.urlsafe_b64decode(here))
    assert said == {"username": "ann", "password": "secret", "serveraddress": "r.example:5000"}
    hub = login_for("busybox", known)
    assert hub is not None
    assert json.loads(base64.urlsafe_b64decode(hub))["serveraddress"] == "https://index.docker.io/v1/"
    assert login_for("other.example/x:1", known) is None


def test_memory_in_use_leaves_out_what_the_kernel_would_give_back() -> None:
    first = {"memory_stats": {"usage": 100, "stats": {"total_inactive_file": 30}}}
    second = {"memory_stats": {"usage": 100, "stats": {"inactive_file": 20}}}
    assert (memory_in_use_bytes(first), memory_in_use_bytes(second), memory_in_use_bytes({})) == (70, 80, 0)
    assert processor_time_s({"cpu_stats": {"cpu_usage": {"total_usage": 2_500_000_000}}}) == 2.5


def test_a_host_is_a_node_as_its_engine_and_the_settings_say() -> None:
    host = HostSettings.model_validate(
        {
            "name": "one",
            "url": "unix:///s",
            "labels": {"hostname": "mine"},
            "taints": [{"key": "dedicated", "value": "team", "effect": "NoSchedule"}],
            "gpus": [{"count": 2, "model": "H100"}],
            "capacity": {"memory": "1GiB", "disk": "10GB"},
        }
    )
    info: dict[str, Any] = {"NCPU": 8, "MemTotal": 2**34, "Architecture": "aarch64", "OSType": "linux", "Name": "h1"}
    node = describe("docker", host, info, {"image/tool:1": "present"})
    assert (node.capacity.cpu, node.capacity.memory, node.capacity.disk, node.capacity.gpu) == (8.0, 2**30, 10**10, 2)
    assert node.labels == {"arch": "arm64", "os": "linux", "hostname": "mine", "image/tool:1": "present"}
    assert [taint.key for taint in node.taints] == ["dedicated"]


# --- the journal -----------------------------------------------------------------------------------------------


def with_journal(folder: Path, scene: Callable[[Journal], Awaitable[None]]) -> None:
    async def whole() -> None:
        journal = Journal(folder)
        await journal.open(None)
        await scene(journal)
        await journal.close()

    asyncio.run(whole())


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    names = []

    async def first(journal: Journal) -> None:
        names.append(await journal.open(None))
        await journal.order("1.0.1", "one")
        await journal.created("1.0.1")
        await journal.stop("1.0.1", "enough", 124)
        await journal.stop("2.0.1", "never mind")

    async def second(journal: Journal) -> None:
        names.append(await journal.open(None))
        one, two = await journal.get("1.0.1"), await journal.get("2.0.1")
        assert one is not None
        assert two is not None
        assert (one.state, one.stop_reason, one.stop_code) == (State.STOPPING, "enough", 124)
        assert two.refused
        assert await journal.unfinished("one") == ["1.0.1"]

    with_journal(tmp_path, first)
    with_journal(tmp_path, second)
    assert names[0] == names[1]


def test_a_stop_before_a_container_is_the_end_and_nothing_starts_after_it(tmp_path: Path) -> None:
    async def scene(journal: Journal) -> None:
        await journal.order("1.0.1", "one")
        assert (await journal.stop("1.0.1", "enough")).refused
        assert (await journal.created("1.0.1")).state is State.ENDED

    with_journal(tmp_path, scene)


def test_the_first_word_on_an_end_stays(tmp_path: Path) -> None:
    async def scene(journal: Journal) -> None:
        await journal.order("1.0.1", "one", created=True)
        await journal.end("1.0.1", 3, "exit status 3", ran=True)
        await journal.stop("1.0.1", "too late")
        again = await journal.end("1.0.1", None, "other", ran=False)
        assert (again.exit_code, again.reason, again.ran) == (3, "exit status 3", True)
        assert (await journal.order("1.0.1", "two")).node == "one"

    with_journal(tmp_path, scene)


@pytest.mark.parametrize("created", [True, False])
def test_only_what_has_no_container_can_be_refused(tmp_path: Path, created: bool) -> None:
    async def scene(journal: Journal) -> None:
        await journal.order("1.0.1", "one", created=created)
        assert (await journal.refuse("1.0.1", "offline")).refused is not created

    with_journal(tmp_path, scene)
