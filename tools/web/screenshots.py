"""Pictures of every page: light and dark, as wide as a desk and as a phone, on the cluster of `dovetail demo`.

`python tools/web/screenshots.py [FOLDER]`: a browser and the packages of tests are needed. Look at each as a designer
would.
"""

import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # the scene of the tests

from tests.e2e.server_process import free_port  # noqa: E402
from tests.e2e.web.scene import SETTINGS, addresses, fill  # noqa: E402
from tests.patience import wait_for  # noqa: E402
from tests.servers.browser import browser, page_of  # noqa: E402

from dovetail.client import Client  # noqa: E402
from dovetail.client.errors import ConnectError, DovetailError  # noqa: E402

WIDTHS = (1440, 390)
WARM_UP_S = 30  # trends need a few points
PATIENCE_S = 60  # a what-if on the full demo takes long where the machine is busy
OPENED = {
    "backend": "/backends?name=cloud",
    "policy": "/policies?name=nvme-only",
    "profile-preview": "/profiles?preview=least_loaded",
    "service": "/services?name=web",
    "network-nodes": "/network?level=leaf&domain=s1-l1",
    "what-if-answer": "/what-if?remove=gpu-s1-l1-n01,gpu-s1-l1-n02,gpu-s1-l1-n03",
}


@contextmanager
def demo(folder: Path) -> Iterator[Client]:
    """The demo cluster, with something on every page."""
    port = free_port()
    command = [sys.executable, "-m", "dovetail", "demo", "--port", str(port), "--data", str(folder)]
    with (folder / "demo.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        with Client(f"http://127.0.0.1:{port}") as client:
            wait_for(lambda: _has_nodes(client), "the demo has nodes", every_s=0.2)
            for name in ("cloud", "vms"):
                client.add_backend(name, SETTINGS["backends"][name])
            wait_for(lambda: client.backend("vms")["nodes"] == 2 and client.backend("cloud")["nodes"] == 4, "all nodes")
            fill(client, "written by a person")
            yield client
    except BaseException:
        print((folder / "demo.log").read_text()[-2000:], file=sys.stderr)
        raise
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _has_nodes(client: Client) -> bool:
    try:
        return client.summary()["nodes"]["total"] > 0
    except (ConnectError, DovetailError):  # not yet
        return False


def take(chromium: Any, client: Client, folder: Path) -> int:
    pages = {re.sub(r"[^a-z]+", "-", path.strip("/")) or "overview": at for path, at in addresses(client).items()}
    made = 0
    for width in WIDTHS:
        for dark in (False, True):
            kind = f"{width}-{'dark' if dark else 'light'}"
            with page_of(chromium, client, "/nodes", width=width, dark=dark) as (page, _):
                for name, path in {**pages, **OPENED}.items():
                    page.goto(client.url + path)
                    page.locator("h1").first.wait_for()
                    if not _is_filled(page):
                        print(
                            f"{name} ({kind}) was not answered within {PATIENCE_S} s: it is pictured as it was then",
                            file=sys.stderr,
                        )
                    page.wait_for_timeout(300)  # charts are drawn
                    page.screenshot(path=folder / f"{name}-{kind}.png", full_page=width == min(WIDTHS))
                    made += 1
    return made


def _is_filled(page: Any) -> bool:
    """Whether all answers came. One page that takes long must not cost the pictures of the others."""
    from playwright.sync_api import TimeoutError as TooLong

    try:
        page.locator("#main .skeleton").first.wait_for(state="detached", timeout=1000 * PATIENCE_S)
    except TooLong:
        return False
    return True


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data, demo(Path(data)) as client, browser() as chromium:
        print(f"the demo runs at {client.url}; pictures follow in {WARM_UP_S} s", file=sys.stderr)
        time.sleep(WARM_UP_S)
        print(f"{take(chromium, client, folder)} pictures in {folder}")


if __name__ == "__main__":
    main()
