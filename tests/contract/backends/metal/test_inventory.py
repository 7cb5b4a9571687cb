"""The inventory of a machine with everything: the pages of a server that sushy, the Redfish library, brings for its own
tests. The emulator's machines have neither drives nor accelerators."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dovetail.backends.metal.controller import Accelerator, PowerState
from dovetail.backends.metal.redfish import RedfishController
from dovetail.backends.metal.settings import BmcSettings
from dovetail.testing.rig import in_event_loop

SYSTEM = "/redfish/v1/Systems/437XR1138R2"


def sample_pages() -> dict[str, dict[str, Any]]:
    """By address."""
    found = find_spec("sushy")
    if found is None or found.origin is None:
        pytest.skip("sushy is not installed (PyPI package)")
    folder = Path(found.origin).parent / "tests" / "unit" / "json_samples"
    if not folder.is_dir():
        pytest.skip("this sushy comes without the samples of its tests (PyPI package sushy)")
    pages: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.json")):
        page = json.loads(file.read_text())
        if isinstance(page, dict) and "@odata.id" in page:
            pages.setdefault(page["@odata.id"].rstrip("/"), page)
    return pages


@contextmanager
def serving(pages: dict[str, dict[str, Any]]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.rstrip("/"))
            body = json.dumps(page or {"error": {"code": "Base.1.0.ResourceMissing", "message": "no such page"}})
            self.send_response(200 if page else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_POST(self) -> None:  # no sessions: every request has the password
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def controller(url: str) -> RedfishController:
    given = {"redfish": url, "user": "a", "password": "b", "system": SYSTEM}
    return RedfishController(BmcSettings.model_validate(given), 10.0)


@in_event_loop
async def test_processors_memory_drives_cards_and_firmware_are_read() -> None:
    pages = sample_pages()
    gpu = f"{SYSTEM}/Processors/GPU1"
    pages[f"{SYSTEM}/Processors"]["Members"].append({"@odata.id": gpu})
    pages[gpu] = {"@odata.id": gpu, "Id": "GPU1", "ProcessorType": "GPU", "Model": "H100"}
    blade = "/redfish/v1/Chassis/Blade1"
    pages[SYSTEM]["Links"]["Chassis"] = [{"@odata.id": blade}]
    pages[blade]["Power"] = {"@odata.id": "/redfish/v1/Chassis/MultiBladeEncl/Power"}
    with serving(pages) as url:
        asked = controller(url)
        found = await asked.inventory()
        assert await asked.power() is PowerState.ON
        assert (found.manufacturer, found.serial) == ("Contoso", "437XR1138R2")
        assert found.memory_bytes == 96 * 2**30
        assert found.cpus == 2
        assert found.cores
        assert found.accelerators == [Accelerator("H100", "GPU")]
        assert len(found.drives) == 3, "a fourth is listed, and its page is missing"
        assert found.drives[0].capacity_bytes == 899527000000
        assert found.nics[0].mac == "12:44:6a:3b:04:11"
        assert found.firmware["bios"] == "P79 v1.45 (12/06/2017)"
        assert found.firmware["bmc"]
        kinds = {reading.sort for reading in await asked.sensors()}
        assert kinds == {"temperature", "fan", "power"}
        await asked.close()


@in_event_loop
async def test_a_machine_that_tells_little_is_read_all_the_same() -> None:
    pages = sample_pages()
    pages[SYSTEM] = {key: pages[SYSTEM][key] for key in ("@odata.id", "Id", "Name", "PowerState")}
    with serving(pages) as url:
        found = await controller(url).inventory()
        assert (found.cores, found.memory_bytes, found.drives, found.nics) == (None, None, [], [])
