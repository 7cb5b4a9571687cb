"""Completion as a shell asks for it: in a process of its own, through the protocol of each shell, on a live server.

How long it takes is for `make bench`; here it is only checked that nothing is imported that takes long.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.warm_shell import run_warm
from tests.unit.api.server import serving, settings_in
from tests.unit.cli.test_imports_of_commands import HEAVY

from dovetail.client import Client

PROGRAMS = Path(sys.executable).parent


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    queues: dict[str, Any] = {"research": {"queues": {"nlp": {}}}}
    settings = settings_in(tmp_path_factory.mktemp("data"), scheduling={"queues": queues})
    with serving(settings) as found, Client(found) as client:
        client.submit([{"name": "train"}, {"name": "trace", "namespace": "team"}, {"name": "queued"}])
        client.set_policy({"name": "near", "prefer": "true"})
        yield found


def environment(url: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOVETAIL_", "COMP_"))}
    path = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "DOVETAIL_URL": url, "NO_PROXY": "127.0.0.1", **more}


def asked(url: str, line: str, shell: str = "bash") -> list[str]:
    """What is offered for the last word of a line, which may be empty. A server that is busy for a second is not waited
    for, so nothing is believed only when it was said three times."""
    return next(filter(None, (_asked(url, line, shell) for _ in range(3))), [])


def _asked(url: str, line: str, shell: str) -> list[str]:
    words = line.split(" ")
    number = str(len(words) - 1) if shell != "fish" else words[-1]
    more = {"_DOVETAIL_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": number}
    done = run_warm([], environment(url, **more))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dovetail logs tr", ["plain,train", "plain,trace"]),
        ("dovetail cancel train tr", ["plain,train", "plain,trace"]),
        ("dovetail describe team/", ["plain,team/trace"]),
        ("dovetail explain nothing-like-it", []),
        ("dovetail get que", ["plain,queues", "plain,queue", "plain,queued"]),
        ("dovetail cordon node-", [f"plain,node-{number}" for number in (1, 2, 3, 4)]),
        ("dovetail why-not train node-4", ["plain,node-4"]),
        ("dovetail nodes node-1", ["plain,node-1"]),
        ("dovetail nodes label node-2", ["plain,node-2"]),
        ("dovetail submit --profile bal", ["plain,balanced"]),
        ("dovetail logs train --namespace te", ["plain,team"]),
        ("dovetail policy n", ["plain,near"]),
        ("dovetail backend show s", ["plain,sim"]),
        ("dovetail uncor", ["plain,uncordon"]),
    ],
)
def test_a_word_is_completed(url: str, line: str, offered: list[str]) -> None:
    assert sorted(asked(url, line)) == sorted(offered)


def test_queues_can_be_completed(url: str) -> None:
    with Client(url) as client:
        assert client.names("queues", "research") == ["research", "research/nlp"]


def test_zsh_and_fish_are_offered_the_same(url: str) -> None:
    assert "train" in asked(url, "dovetail logs tr", "zsh")
    assert "plain,train" in asked(url, "dovetail logs tr", "fish")


def test_the_server_may_be_named_on_the_line(url: str) -> None:
    nobody = "http://127.0.0.1:1"
    assert asked(nobody, f"dovetail --url {url} logs trai") == ["plain,train"]
    assert asked(nobody, f"dovetail logs --url {url} trai") == ["plain,train"]


def test_without_a_server_nothing_is_offered_and_nothing_is_said(url: str) -> None:
    assert asked("http://127.0.0.1:1", "dovetail logs tr") == []
    assert asked("not an address", "dovetail logs tr") == []
    assert asked(f"{url}/elsewhere", "dovetail logs tr") == []
    assert asked("http://127.0.0.1:1", "dovetail nodes re") == ["plain,register", "plain,remove"]


def test_a_server_that_never_answers_holds_up_nobody() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert asked(f"http://127.0.0.1:{silent.getsockname()[1]}", "dovetail logs tr") == []


def test_completing_imports_nothing_that_takes_long(url: str) -> None:
    more = {"_DOVETAIL_COMPLETE": "bash_complete", "COMP_WORDS": "dovetail logs tr", "COMP_CWORD": "2"}
    code = "import sys\nfrom dovetail.cli.main import run\ntry: run()\nfinally: print(*sys.modules, file=sys.stderr)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(url, **more), capture_output=True, text=True, check=False)
    assert "plain,train" in done.stdout
    assert set(done.stderr.split()) & set(HEAVY) == set()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_after_reading_the_script(url: str) -> None:
    if not (PROGRAMS / "dovetail").exists():
        pytest.skip("dovetail is not installed as a program")
    script = """
        source <(dovetail completion bash)
        COMP_WORDS=(dovetail logs tr) COMP_CWORD=2
        $(complete -p dovetail | sed 's/.*-F \\([^ ]*\\).*/\\1/') dovetail tr logs
        echo "${COMPREPLY[@]}"
    """
    done = subprocess.run(["bash", "-c", script], env=environment(url), capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) == {"train", "trace"}, done.stderr
