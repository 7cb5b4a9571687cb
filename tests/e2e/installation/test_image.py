"""The image: the Dockerfile is built by a real engine, and a container of it serves and runs a job."""

import json
import os
import re
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.docs.page import command_beginning
from tests.patience import wait_for
from tests.servers.daemon import skip_without
from tests.servers.docker import DockerServer
from tests.servers.python_root import write_python_root

from dovetail import __version__

pytest.importorskip("hatchling", reason="the package hatchling is not installed")

# Half a minute of processor time; on a machine that is busy with ten other things, minutes.
pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker"), pytest.mark.timeout(540)]

ROOT = Path(__file__).parents[3]
BASE = "python-of-this-machine:local"
IMAGE = f"dovetail:{__version__}"
PAGE = ROOT / "docs" / "installing.md"
VOLUME = "--volume=dovetail:/var/lib/dovetail"
#: As the manifests run it: no rights, and nothing to write to but the data.
CONFINED = ("--read-only", "--tmpfs=/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none")


class Docker:
    """The command `docker`, for one engine."""

    def __init__(self, url: str) -> None:
        # The engine of Debian 12 has no BuildKit of the age that today's client asks for.
        self._env = {**os.environ, "DOCKER_HOST": url, "DOCKER_BUILDKIT": "0"}

    def __call__(self, *words: str, fails: bool = False) -> str:
        done = subprocess.run(["docker", *words], env=self._env, cwd=ROOT, capture_output=True, text=True)
        assert (done.returncode != 0) == fails, f"docker {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def import_base(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        with tempfile.TemporaryFile() as packed:
            write_python_root(packed, [*project["project"]["dependencies"], *project["build-system"]["requires"]])
            packed.seek(0)
            subprocess.run(
                ["docker", "import", "-", BASE], env=self._env, stdin=packed, capture_output=True, check=True
            )


@pytest.fixture(scope="module")
def docker(docker_servers: tuple[DockerServer, DockerServer]) -> Docker:
    """With the image, built as the page says. Nothing is fetched: the base has what pip would install."""
    skip_without("docker")
    found = Docker(docker_servers[0].url)
    found.import_base()
    arguments = [f"--build-arg=BASE={BASE}", "--build-arg=PIP_OPTIONS=--no-build-isolation --no-index --no-compile"]
    _, build, *rest = shlex.split(command_beginning(PAGE, "docker build"))
    found(build, "--network=none", *arguments, *rest)
    return found


@pytest.fixture
def container(docker: Docker) -> Iterator[str]:
    """A container of the control plane that is healthy."""
    name = docker(
        "run", "--detach", "--init", "--volume=dovetail:/var/lib/dovetail", "--health-interval=1s", *CONFINED, IMAGE
    )
    try:
        wait_healthy(docker, name)
        yield name
    finally:
        docker("rm", "--force", "--volumes", name)
        docker("volume", "rm", "dovetail")


def wait_healthy(docker: Docker, container: str) -> None:
    def healthy() -> bool:
        state = json.loads(docker("inspect", "--format={{json .State}}", container))
        assert state["Running"], docker("logs", container)
        return bool(state["Health"]["Status"] == "healthy")

    wait_for(healthy, "the container is healthy", every_s=0.2)


def defunct(docker: Docker, container: str) -> list[str]:
    states = docker("exec", container, "sh", "-c", "cat /proc/[0-9]*/status | grep -E '^(Name|State|PPid)'")
    return re.findall(r"Name:\t(.*)\nState:\tZ", states)


def test_a_container_serves_runs_a_job_stops_in_order_and_finds_its_data_again(docker: Docker, container: str) -> None:
    assert docker("exec", container, "dovetail", "run", "--name", "hello", "--", "echo", "it runs") == "it runs"
    assert docker("exec", container, "id", "-u") == "65532"
    # The server is process 1 of its container, and so the parent of everybody's orphans.
    docker("exec", container, "dovetail", "run", "--name", "orphan", "--", "sh", "-c", "(sleep 0.1 &) ; exit 0")
    wait_for(lambda: not defunct(docker, container), "whoever ended is reaped", every_s=0.2)
    docker("stop", "--time=60", container)
    assert docker("inspect", "--format={{.State.ExitCode}}", container) == "0"
    docker("start", container)
    wait_healthy(docker, container)
    assert "succeeded" in docker("exec", container, "dovetail", "get", "hello")


def test_the_image_has_the_version_and_nothing_of_the_sources_but_the_package(docker: Docker) -> None:
    def inside(*command: str) -> str:
        return docker("run", "--rm", "--network=none", "--entrypoint", command[0], IMAGE, *command[1:])

    assert inside("dovetail", "--version") == f"dovetail {__version__}"
    assert inside("python3", "-c", "import dovetail; print(dovetail.__file__)").startswith("/opt/dovetail/lib/")
    assert inside("sh", "-c", "ls -d /source 2>/dev/null || echo none") == "none"


def test_the_build_context_has_the_package_alone() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert set(allowed) == {"src", "pyproject.toml", "README.md", "LICENSE", "constraints.txt"}
