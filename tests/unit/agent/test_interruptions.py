"""The agent hears that a cloud takes its machine back, and from nobody else."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import wait_for
from tests.servers.metadata_service import NOTICES, MetadataServer
from tests.servers.wire import PreparedError, WireReply

from dovetail.agent.interruptions import InterruptionSettings, cloud_of_machine, next_interruption


@pytest.fixture
def service() -> Iterator[MetadataServer]:
    with MetadataServer() as found:
        yield found


def settings(service: MetadataServer, cloud: str) -> InterruptionSettings:
    return InterruptionSettings.model_validate({"cloud": cloud, "url": service.url, "every": "100ms"})


async def heard(service: MetadataServer, cloud: str) -> str | None:
    """After some questions without a notice."""
    asking = asyncio.ensure_future(next_interruption(settings(service, cloud)))
    await asyncio.to_thread(wait_for, lambda: len(service.asked) >= 4, "some questions")
    assert not asking.done()
    service.taken_back = True
    return await asking


@pytest.mark.parametrize("cloud", NOTICES)
def test_the_notice_is_heard_when_it_comes(service: MetadataServer, cloud: str) -> None:
    assert asyncio.run(heard(service, cloud)) == NOTICES[cloud]


@pytest.mark.parametrize("cloud", NOTICES)
@pytest.mark.parametrize(
    "body", [None, b"<html>", {"Events": "none"}, []], ids=["nothing", "a page", "words", "a list"]
)
def test_a_service_that_answers_nonsense_is_asked_again(
    service: MetadataServer, cloud: str, body: object, caplog: pytest.LogCaptureFixture
) -> None:
    service.faults.errors.append(PreparedError("GET", "action|scheduled|preempted", WireReply(500, body), times=3))
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(heard(service, cloud)) == NOTICES[cloud]
    assert caplog.text.count("no sensible answer from the metadata service") == 1


def test_a_token_that_has_expired_is_made_again(service: MetadataServer) -> None:
    async def scene() -> str | None:
        asking = asyncio.ensure_future(next_interruption(settings(service, "ec2")))
        await asyncio.to_thread(wait_for, lambda: service.tokens, "a token")
        service.tokens.clear()
        service.taken_back = True
        return await asking

    assert asyncio.run(scene()) == NOTICES["ec2"]


def test_a_machine_of_nobody_asks_nobody(service: MetadataServer) -> None:
    assert asyncio.run(next_interruption(settings(service, "none"))) is None
    assert service.asked == []


@pytest.mark.parametrize(
    ("file", "content", "cloud"),
    [
        ("sys_vendor", "Amazon EC2\n", "ec2"),
        ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n", "azure"),
        ("product_name", "Google Compute Engine\n", "gcp"),
        ("sys_vendor", "Dell Inc.\n", "none"),
        ("sys_vendor", "\xff", "none"),
        ("board_name", "Amazon EC2", "none"),
    ],
)
def test_the_firmware_tells_whose_machine_it_is(tmp_path: Path, file: str, content: str, cloud: str) -> None:
    (tmp_path / file).write_text(content, encoding="latin-1")
    assert cloud_of_machine(tmp_path) == cloud
