"""Connections to AWS: one client a region and service, and threads of our own that call them.

boto3 blocks. With its own threads a cloud that hangs keeps nobody else waiting. A launch is sent once for each call:
repeating it is left to the fleet, which looks first.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeVar

import boto3
import botocore.session
from botocore.config import Config

from dovetail.backends.ec2.settings import Ec2Settings

THREADS = 8
PRICING_REGION = "us-east-1"  # the price API answers for all regions, in few of them
T = TypeVar("T")


@cache
def _descriptions() -> Any:
    """Of the services, as botocore reads them from its files: once, not for each backend again."""
    return botocore.session.Session().get_component("data_loader")


class Ec2Clients:
    def __init__(self, settings: Ec2Settings, name: str) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"{name}: aws")
        self._lock = threading.Lock()
        self._session: Any = None
        self._clients: dict[tuple[str, str, int], Any] = {}

    async def run(self, call: Callable[..., T], *given: Any) -> T:
        """In a thread of ours."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(call, *given))

    def ec2(self, region: str) -> Any:
        return self._client("ec2", region, tries=3)

    def ec2_once(self, region: str) -> Any:
        """For calls that must not be repeated unseen."""
        return self._client("ec2", region, tries=1)

    def ssm(self, region: str) -> Any:
        return self._client("ssm", region, tries=3)

    def pricing(self) -> Any:
        return self._client("pricing", PRICING_REGION, tries=1)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _client(self, service: str, region: str, tries: int) -> Any:
        key = service, region, tries
        with self._lock:  # a session is not made for several threads; its clients are
            if key not in self._clients:
                self._clients[key] = self._new(service, region, tries)
            return self._clients[key]

    def _new(self, service: str, region: str, tries: int) -> Any:
        given = self._settings
        if self._session is None:
            session = botocore.session.Session(profile=given.profile)
            session.register_component("data_loader", _descriptions())
            self._session = boto3.session.Session(
                aws_access_key_id=given.access_key,
                aws_secret_access_key=_secret(given.secret_key),
                aws_session_token=_secret(given.session_token),
                botocore_session=session,
            )
        config = Config(
            connect_timeout=min(10.0, given.timeout),
            read_timeout=given.timeout,
            retries={"mode": "standard", "total_max_attempts": tries},
            max_pool_connections=THREADS,
            user_agent_extra="dovetail",
        )
        return self._session.client(
            service, region_name=region, endpoint_url=given.endpoint_url, verify=given.ca_bundle, config=config
        )


def _secret(value: Any) -> str | None:
    return None if value is None else str(value.get_secret_value())
