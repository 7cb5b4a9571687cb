"""A real `dovetail serve` process for tests: own port, own folder, stopped by pid."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from tests.servers.daemon import START_S, free_ports
from tests.servers.own_token import OWN_TOKEN
from tests.servers.warm_process import MIGRATE_ANEW, WarmProcess

STOP_S = 60.0


class ServerProcess:
    """Start, kill and start again on the same data."""

    def __init__(self, folder: Path, settings: dict[str, Any] | None = None, data: Path | None = None) -> None:
        self.folder = folder
        self.data = folder / "data" if data is None else data
        (self.port,) = free_ports(1)
        scheme = "https" if (settings or {}).get("listen", {}).get("tls") else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self.migrates_anew = False  # a new database is a copy (`fresh_databases`), unless this is set
        self._config = folder / "settings.json"
        self._config.write_text(json.dumps(settings or {}))
        self._process: subprocess.Popen[bytes] | WarmProcess | None = None
        # One client for all, without certificates: loading those takes longer than a request.
        self.http = httpx.Client(auth=OWN_TOKEN, base_url=self.url, timeout=60, trust_env=False, verify=False)

    def start(self, *, wait: bool = True, cold: bool = False) -> None:
        """Without its imports (`warm_process`), unless it is `cold`: then everything is as a user starts it."""
        command = [sys.executable, "-m", "dovetail", "serve", "--config", str(self._config)]
        command += ["--data", str(self.data), "--port", str(self.port)]
        env = {key: value for key, value in os.environ.items() if not key.startswith("DOVETAIL_")}
        if self.migrates_anew:
            env[MIGRATE_ANEW] = "yes"
        with self.log.open("ab") as log:
            if cold:
                self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env)
            else:
                self._process = WarmProcess(command, stdout=log, stderr=log, env=env)
        if wait:
            self.wait_ready()

    def wait_ready(self, timeout_s: float = START_S) -> None:
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, f"the server ended by itself:\n{self.log.read_text()[-3000:]}"
            try:
                if self.http.get("/ready", timeout=2).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"the server was not ready in {timeout_s} s:\n{self.log.read_text()[-3000:]}")

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def send_signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self) -> None:
        """As a power cut would: no chance to tidy up."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def stop(self) -> int:
        assert self._process is not None
        self._process.terminate()
        try:
            return self._process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError(f"the server did not stop in {STOP_S} s:\n{self.log.read_text()[-3000:]}") from None

    def __enter__(self) -> "ServerProcess":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.alive:
            self.stop()
