"""An emulator of AWS that runs Lambda functions for real, as processes of this machine: ministack, from PyPI.

It pins libraries that other tools of the tests need in other versions, so it has an environment of its own in the
user's cache: `python -m tests.servers.ministack` makes it (`make test-deps` does). Looking makes nothing.
"""

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.servers.aws_client import aws_client
from tests.servers.daemon import Daemon, free_ports, server_folder
from tests.servers.go_programs import cache_folder

RELEASE = "1.5.33"
PACKAGES = [f"ministack=={RELEASE}", "boto3==1.43.106"]  # functions need boto3, as in Lambda's own runtimes
REGION, ACCOUNT = "eu-central-1", "000000000000"


def environment() -> Path:
    return cache_folder() / f"ministack-{RELEASE}-{sys.version_info.major}.{sys.version_info.minor}"


def program() -> Path:
    return environment() / "bin" / "ministack"


def install() -> None:
    if program().exists():
        print(f"test-deps: ministack {RELEASE} is there")
        return
    print(f"test-deps: installing ministack {RELEASE}…", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", environment()], check=True)
    subprocess.run([environment() / "bin" / "pip", "install", "--quiet", *PACKAGES], check=True)


@dataclass(frozen=True, slots=True)
class Ministack:
    url: str
    daemon: Daemon

    def client(self, service: str) -> Any:
        return aws_client(self.url, service, REGION)

    def make_function(self, name: str, files: dict[str, str], handler: str, **fields: Any) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        asked = {"Runtime": "python3.12", "Role": f"arn:aws:iam::{ACCOUNT}:role/any", "Timeout": 60} | fields
        client = self.client("lambda")
        client.create_function(FunctionName=name, Handler=handler, Code={"ZipFile": packed.getvalue()}, **asked)
        often = {"Delay": 0.1, "MaxAttempts": 600}
        client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig=often)

    def make_table(self, name: str) -> None:
        key = [{"AttributeName": "key", "KeyType": "HASH"}]
        kinds = [{"AttributeName": "key", "AttributeType": "S"}]
        self.client("dynamodb").create_table(
            TableName=name, KeySchema=key, AttributeDefinitions=kinds, BillingMode="PAY_PER_REQUEST"
        )


@contextmanager
def ministack_server() -> Iterator[Ministack]:
    if not program().exists():
        pytest.skip("ministack is not installed: make test-deps installs it from PyPI")
    (port,) = free_ports(1)
    with server_folder("ministack") as folder:
        variables = {
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(port),
            "TMPDIR": str(folder),
            "SERVICES": "lambda,dynamodb,logs,sts,iam",
            "LAMBDA_ASYNC_RETRY_BASE_SECONDS": "0.2",
            "LAMBDA_ACCOUNT_CONCURRENCY": "1000",
            "LOG_LEVEL": "WARNING",
            "S3_DATA_DIR": str(folder / "s3"),
            "AWS_DEFAULT_REGION": REGION,
            "MINISTACK_REGION": REGION,
        }
        daemon = Daemon("ministack", [program()], folder, variables)
        url = f"http://127.0.0.1:{port}"
        daemon.start(lambda: httpx.get(f"{url}/_ministack/health", timeout=5).status_code == 200)
        try:
            yield Ministack(url, daemon)
        finally:
            daemon.stop()


if __name__ == "__main__":
    install()
