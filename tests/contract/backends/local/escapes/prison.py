"""A real server whose jobs try to break out: started as root, or as an ordinary user, with small limits."""

import itertools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.patience import PATIENCE_S, wait_for
from tests.servers.daemon import free_ports

from dovetail.client import Client, ConnectError, DovetailError

ROOT = Path(__file__).parents[5]
ORDINARY_UID = 1_999_999_999
PROCESSES = 40
OUTPUT_LIMIT = 256 * 2**10
LIMITS = {
    "processes": PROCESSES, "output_limit": OUTPUT_LIMIT, "folder_limit": "8MiB", "grace_s": "200ms",
    "cgroup_parent": f"dovetail-test-{os.getpid()}",
}  # fmt: skip


@dataclass(frozen=True)
class Ended:
    exit_code: int | None
    message: str
    text: str


@dataclass
class Prison:
    """`jobs` run on the backends that the settings name. What is in `secret` must not get out."""

    folder: Path
    url: str
    process: "subprocess.Popen[bytes]"
    secret: str
    token_file: Path
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def client(self) -> Client:
        token = self.token_file.read_text().strip() if self.token_file.exists() else None
        return Client(self.url, token=token)

    def submit(self, backend: str, script: str, **fields: Any) -> int:
        body = {
            "name": f"prisoner-{next(self.numbers)}",
            "resources": {"cpu": "10m"},
            "backends": {"allow": [backend]},
            "run": {"command": ["/bin/sh", "-c", script]},
        }
        with self.client() as client:
            return client.submit(body | fields)[0]["id"]

    def run(self, backend: str, script: str, **fields: Any) -> Ended:
        return self.end_of(self.submit(backend, script, **fields))

    def end_of(self, workload: int) -> Ended:
        with self.client() as client:
            client.wait(workload, timeout_s=PATIENCE_S)
            task = client.tasks(workload)[0]
            return Ended(task["exit_code"], task["message"], client.logs(workload, limit=2**20).text)

    def wait_for_output(self, workload: int, words: str) -> None:
        def seen() -> bool:
            with self.client() as client:
                try:
                    return words in client.logs(workload).text
                except DovetailError:  # it has not started
                    return False

        wait_for(seen, f"{words!r} in the output of {workload}")

    def execute(self, workload: int, script: str) -> str:
        """What a command beside the job writes."""
        with self.client() as client:
            id_ = client.execute(workload, ["/bin/sh", "-c", script])["id"]
            text, offset, ended = b"", 0, False
            while not ended:
                said = client.exec_output(id_, offset=offset)
                text, offset, ended = text + said.content, said.next_offset, said.ended
            return text.decode()

    def labels(self, node: str) -> dict[str, str]:
        with self.client() as client:
            return dict(client.node(node)["labels"])

    def needs(self, backend: str, *what: str) -> None:
        """Skip where the node itself says that this is not in force."""
        labels = self.labels(backend)
        in_force = set(labels["isolation"].split("+"))
        if missing := [each for each in what if each not in in_force]:
            pytest.skip(f"the node says that it does not isolate {', '.join(missing)}: {labels.get('unenforced')}")

    def run_folder(self, backend: str, workload: int) -> Path:
        return self.data / "backends" / backend / f"{workload}.0.1"

    def was_asked_to_stop(self, backend: str, workload: int) -> bool:
        return (self.run_folder(backend, workload) / "stop").exists()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=PATIENCE_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def start(*, root: bool) -> Prison:
    """Skips where this machine or the user of the tests cannot."""
    if root and os.geteuid() != 0:
        pytest.skip("needs root: the server of this test switches users")
    folder = Path(tempfile.mkdtemp(prefix="dovetail-escapes-"))
    folder.chmod(0o755)
    port, secret = free_ports(1)[0], secrets.token_hex(16)
    backends = {"local": {"kind": "local", "node": "local", **LIMITS}}
    if root:
        backends["plain"] = {"kind": "local", "node": "plain", "limits": "rlimit", **LIMITS}
    (folder / "settings.yaml").write_text(yaml.safe_dump({"backends": backends, "logging": {"level": "warning"}}))
    command = [*_as_user(root), "-m", "dovetail", "serve", "--config", str(folder / "settings.yaml")]
    command += ["--data", str(folder / "data"), "--port", str(port)]
    env = {name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")}
    env |= {"PYTHONPATH": f"{ROOT / 'src'}:{sysconfig.get_path('purelib')}", "SECRET_OF_THE_SERVER": secret}
    env |= {"PYTHONDONTWRITEBYTECODE": "1", "HOME": str(folder)}
    if not root and os.geteuid() == 0:
        os.chown(folder, ORDINARY_UID, ORDINARY_UID)
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
    prison = Prison(folder, f"http://127.0.0.1:{port}", process, secret, folder / "data" / "admin.token")
    try:
        _wait_ready(prison)
    except BaseException:
        prison.stop()
        raise
    for name in ("secret.key", "kept.token"):
        (prison.data / name).write_text(secret)
        (prison.data / name).chmod(0o600)
        os.chown(prison.data / name, prison.data.stat().st_uid, prison.data.stat().st_gid)
    return prison


def _wait_ready(prison: Prison) -> None:
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until and prison.process.poll() is None:
        try:
            with prison.client() as client:
                if client.nodes():
                    return
        except (ConnectError, DovetailError):  # it does not listen yet, or its token was written a moment ago
            time.sleep(0.02)
    raise AssertionError(f"the server did not start:\n{(prison.folder / 'server.log').read_text()[-3000:]}")


def _as_user(root: bool) -> list[str]:
    """Python, as the user that the server shall be. An interpreter in root's home is of no use to others."""
    if root or os.geteuid() != 0:
        return [sys.executable]
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (util-linux) to start a server as an ordinary user")
    switch = ["setpriv", f"--reuid={ORDINARY_UID}", f"--regid={ORDINARY_UID}", "--clear-groups"]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    usable = "os.access(sys.executable, os.X_OK) and '%d.%d' % sys.version_info[:2] == sys.argv[1]"
    says = f"import os, sys; sys.exit(not ({usable}))"
    for python in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        if subprocess.run([*switch, python, "-c", says, version], capture_output=True, check=False).returncode == 0:
            return [*switch, python]
    pytest.skip(f"needs a Python {version} that an ordinary user can run: that of the tests is in a closed folder")
