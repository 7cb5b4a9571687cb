"""Draw docs/images/explain.svg, the picture of the README:  python tools/picture.py

It shows what `dovetail explain` prints for a job on the simulated cluster of `examples/lab.yaml`, at 80 columns. A test
draws it again and compares, so that it shows what people see.
"""

import io
import os
import pty
import re
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from dovetail.client import Client, ConnectError

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "explain.svg"
CLUSTER = ROOT / "examples" / "lab.yaml"
WIDTH = 80
PATIENCE_S = 60.0
#: Some work that is there already, and the job that is explained.
NOTEBOOKS = """
name: notebooks
replicas: 48
profile: balanced
resources: {cpu: 4, memory: 32GiB, gpu: 1}
node_affinity: {required: [{match: [{key: leaf, operator: In, values: [s1-l1, s1-l2, s1-l3]}]}]}
"""
JOB = """
name: train
priority: high
resources: {cpu: 16, memory: 128GiB, gpu: 8}
node_selector: {spine: s1}
constraints: [{prefer: 'node.labels.rack.endsWith("-r2")', weight: 0.8}]
"""


def picture(url: str) -> str:
    """Submits the work to a server of that cluster, and draws the explanation."""
    with Client(url) as client:
        for work in (NOTEBOOKS, JOB):
            (row,) = client.submit_yaml(work)
            gives_up_at = time.monotonic() + PATIENCE_S
            while client.workload(row["id"])["state"] != "running" and time.monotonic() < gives_up_at:
                time.sleep(0.05)
    return drawn("dovetail explain train", {"DOVETAIL_URL": url})


def drawn(command: str, environment: dict[str, str]) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(f"$ {command}\n{printed(command.split(), environment)}"))
    without_web_fonts = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="dovetail", code_format=without_web_fonts, unique_id="explain")


def printed(command: list[str], environment: dict[str, str]) -> str:
    """What a command of Dovetail writes to a terminal."""
    ours, terminal = pty.openpty()
    usual = {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    # The last two say where the account notes its servers and their tokens.
    usual |= {name: os.environ[name] for name in ("PATH", "HOME", "XDG_STATE_HOME") if name in os.environ}
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env=usual | environment,
    )
    os.close(terminal)
    chunks: list[bytes] = []
    while chunk := _read(ours):
        chunks.append(chunk)
    os.close(ours)
    if process.wait():
        raise SystemExit(b"".join(chunks).decode())
    return b"".join(chunks).decode().replace("\r\n", "\n").rstrip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other end is closed
        return b""


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as data:
        settings = {"DOVETAIL_LISTEN__PORT": str(port), "DOVETAIL_DATA": f'"{data}"'}
        command = [sys.executable, "-m", "dovetail", "serve", "--config", str(CLUSTER)]
        server = subprocess.Popen(
            command, env=os.environ | settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            _wait_for(url)
            PICTURE.write_text(picture(url))
        finally:
            server.terminate()
            server.wait()


def _wait_for(url: str) -> None:
    gives_up_at = time.monotonic() + PATIENCE_S
    while True:
        try:
            with Client(url) as client:
                client.nodes()
            return
        except ConnectError:
            if time.monotonic() > gives_up_at:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    main()
