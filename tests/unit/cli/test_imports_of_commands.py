"""A command starts fast because of what it does not import. No clock here: `make bench ONLY='cli*'` measures."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.api.server import serving, settings_in

from dovetail.cli.command_table import COMMANDS
from dovetail.client import Client

#: What no command that only asks a server may import. Each takes a good part of the time that a command has.
HEAVY = (
    "asyncio",
    "dovetail.api",
    "dovetail.control",
    "dovetail.engine",
    "dovetail.model.workloads",
    "dovetail.responses",
    "email",
    "fastapi",
    "http.client",
    "httpx",
    "importlib.metadata",
    "numpy",
    "orjson",
    "pydantic",
    "rich",
    "sqlalchemy",
    "ssl",
    "subprocess",
    "typer",
    "typing_extensions",
    "urllib.request",
    "uvicorn",
    "yaml",
)
#: One line a command, in an order in which each finds what it needs.
ASKED = """
    submit --name guarded -- sleep 1
    submit -f FILE
    get
    get guarded
    get nodes
    get profiles
    describe guarded
    logs guarded
    events
    history
    queue
    queues
    top --once
    plan -f FILE
    explain guarded
    why-not guarded node-1
    capacity --cpu 1
    fragmentation
    attention
    trends
    decisions
    what-if --remove-node node-1
    snapshot
    profiles
    profiles preview best_fit
    cost
    cost forecast
    cost report
    budget
    budget set guarded 5 EUR
    policy
    policy set guarded-rule --require node.free.cpu>1
    constraint check node.free.cpu>1
    affinity
    affinity set cart node-1
    nodes
    nodes show node-1
    nodes label node-1 disk=nvme
    nodes register -f NODE
    cordon node-1
    uncordon node-1
    drain node-2
    fail node node-3
    rebalance
    topology
    distance
    distance import TABLE
    traffic
    distance get node-1 node-2
    distance measured
    distance trends node-1 node-2
    topology discover
    vm
    backend
    backend show sim
    cloud prices
    cloud instances
    cloud reap --dry-run
    metal
    metal savings
    token
    token join
    token sessions
    note something happened
    open
    reserve
    services
    services kept
    scale kept 1
    rollout status kept --now
    rollout history kept
    endpoints found
    run --name guarded -- true
    retry guarded
    preempt guarded
    exec guarded -- true
    attach guarded
    cancel guarded
    version
    completion fish
"""
#: They run something in their own process, or read files that the server does not read for them.
OTHERS = {
    "simulate",
    "sweep",
    "replay",
    "kubernetes",
    "agent",
    "dns",
    "serve",
    "demo",
    "config",
    "diff",
    "apply",
    "mcp",
}
#: What this server refuses to do, in time to see what was imported: the name is taken, nothing failed, no backend can.
REFUSED = {"run", "retry", "preempt", "exec", "attach"}

RUNNER = """
import contextlib, io, json, sys
from dovetail.cli.main import app

commands, heavy = json.loads(sys.argv[1])
for words in commands:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = app.main(words, prog_name="dovetail", standalone_mode=False)
        except SystemExit as end:
            code = end.code
    loaded = [name for name in heavy if name in sys.modules]
    print(json.dumps([words, code or 0, loaded, out.getvalue()]))
    heavy = [name for name in heavy if name not in loaded]
"""


def imported(commands: list[list[str]], heavy: tuple[str, ...] = HEAVY) -> Iterator[tuple[str, int, list[str], str]]:
    """Each command with its exit code, the heavy modules that it was the first to import, and what it printed."""
    given = [sys.executable, "-c", RUNNER, json.dumps([commands, heavy])]
    done = subprocess.run(given, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        words, code, loaded, printed = json.loads(line)
        yield " ".join(words), code, loaded, printed


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(settings_in(tmp_path_factory.mktemp("data"))) as found, Client(found) as client:
        client.apply({"kind": "service", "name": "found"})
        yield found


def test_no_command_that_asks_a_server_imports_anything_heavy(url: str, tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text("name: from-a-file\n")
    (tmp_path / "node.yaml").write_text("name: joins\ncapacity: {cpu: 1}\n")
    (tmp_path / "table.csv").write_text("from,to,distance\nnode-1,node-2,30\n")
    places = {"FILE": file, "NODE": tmp_path / "node.yaml", "TABLE": tmp_path / "table.csv"}
    lines = [[str(places.get(word, word)) for word in line.split()] for line in ASKED.strip().splitlines()]
    with Client(url) as client:
        client.apply({"name": "kept", "resources": {"cpu": "10m"}})
    found = list(imported([["--url", url, *words] for words in lines]))
    assert len(found) == len(lines)
    exits = [5 if words[0] in REFUSED else 0 for words in lines]
    assert [
        (command, code, printed)
        for (command, code, _, printed), exit_ in zip(found, exits, strict=True)
        if code != exit_
    ] == []
    assert {command: loaded for command, _, loaded, _ in found if loaded} == {}


def test_every_command_is_guarded() -> None:
    assert {line.split()[0] for line in ASKED.strip().splitlines()} == set(COMMANDS) - OTHERS


def test_help_imports_no_command_and_none_of_the_heavy_libraries() -> None:
    [(_, code, loaded, printed)] = imported([["--help"]], (*HEAVY, "dovetail.cli.workloads.get"))
    assert code == 0
    assert "Pending workloads in order" in printed
    # It also names the commands of installed packages, which importlib.metadata finds.
    assert set(loaded) <= {"importlib.metadata", "email", "dovetail.control"}
