"""The wheel and the sdist: what they hold, and that the wheel runs outside the repository.

The wheel is installed into an environment of its own. Its dependencies are those of the environment that runs the
tests, so that nothing is fetched. The repository itself is not visible from there.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.open_folder import open_folder
from tests.patience import wait_for
from tests.servers.daemon import free_ports

from dovetail import __version__

pytest.importorskip("hatchling", reason="the package hatchling is not installed")

pytestmark = pytest.mark.xdist_group("installation")

ROOT = Path(__file__).parents[3]
NAME = "dovetail_scheduler"
ABOUT = f"{NAME}-{__version__}.dist-info"
#: What the sdist has: the package, and what it takes to build, to read and to deploy it.
SDIST_HAS = {"src", "docs", "examples", "deploy", "constraints.txt", "pyproject.toml", "README.md", "LICENSE"}
SDIST_ADDS = {"PKG-INFO", ".gitignore", ".dockerignore"}


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def build(folder: Path, *kinds: str, source: Path = ROOT) -> None:
    """What hatchling makes of a source tree, into a folder."""
    targets = [word for kind in kinds for word in ("-t", kind)]
    run(sys.executable, "-m", "hatchling", "build", *targets, "-d", folder, cwd=source)


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(wheel, sdist) of the repository."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder, "sdist", "wheel")
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_they_have_the_name_that_pip_installs_and_the_version_of_the_package(distributions: tuple[Path, Path]) -> None:
    wheel, sdist = distributions
    assert wheel.name == f"{NAME}-{__version__}-py3-none-any.whl"
    assert sdist.name == f"{NAME}-{__version__}.tar.gz"
    metadata = contents(wheel)[f"{ABOUT}/METADATA"].decode()
    assert "\nName: dovetail-scheduler\n" in metadata
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE)) == set(extras)


def test_the_wheel_has_every_file_of_the_package_and_no_other(distributions: tuple[Path, Path]) -> None:
    source = ROOT / "src"
    files = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    found = set(contents(distributions[0]))
    assert {name for name in found if not name.startswith(ABOUT)} == {str(path.relative_to(source)) for path in files}
    assert "dovetail/py.typed" in found
    assert any(name.startswith("dovetail/store/migrations/versions/") for name in found)


def test_the_sdist_has_what_it_takes_to_build_read_and_deploy_it(distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[1]) as archive:
        names = [Path(name).relative_to(f"{NAME}-{__version__}") for name in archive.getnames()]
    assert {name.parts[0] for name in names} == SDIST_HAS | SDIST_ADDS
    assert not [name for name in names if "__pycache__" in name.parts or name.suffix in (".pyc", ".db", ".log")]


def test_the_sdist_builds_the_same_wheel(distributions: tuple[Path, Path], tmp_path: Path) -> None:
    wheel, sdist = distributions
    shutil.unpack_archive(sdist, tmp_path / "source")
    build(tmp_path / "dist", "wheel", source=tmp_path / "source" / f"{NAME}-{__version__}")
    assert contents(next((tmp_path / "dist").iterdir())) == contents(wheel)


@pytest.fixture(scope="module")
def programs(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of a new environment that has the wheel."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", "--no-compile")
    run(sys.executable, *install, distributions[0], cwd=folder)
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # Path files in a folder that a path file names are not read: an editable install of the repository stays out.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


class Elsewhere:
    """Runs the installed programs in an empty folder, which is also the home."""

    def __init__(self, programs: Path, folder: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DOVETAIL_", "PYTHON"))}
        self.programs, self.folder = programs, folder
        self.port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{self.port}"
        self.env = kept | {"HOME": str(folder), "DOVETAIL_URL": self.url}

    def run(self, program: str, *arguments: str) -> str:
        return run(self.programs / program, *arguments, cwd=self.folder, env=self.env)

    def serve(self) -> "subprocess.Popen[bytes]":
        command = [str(self.programs / "dovetail"), "serve", "--port", str(self.port)]
        return subprocess.Popen(command, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL)

    def ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/ready", trust_env=False, verify=False).is_success
        except httpx.TransportError:
            return False


@pytest.fixture
def elsewhere(programs: Path) -> Iterator[Elsewhere]:
    with open_folder() as folder:
        yield Elsewhere(programs, folder)


def test_the_installed_package_is_the_wheel(elsewhere: Elsewhere) -> None:
    where = elsewhere.run("python", "-c", "import dovetail; print(dovetail.__file__)")
    assert where.startswith(str(elsewhere.programs.parent))
    assert elsewhere.run("dovetail", "--version") == f"dovetail {__version__}\n"


@pytest.mark.needs_server
def test_it_serves_from_an_empty_folder_and_runs_a_job(elsewhere: Elsewhere) -> None:
    server = elsewhere.serve()
    try:
        wait_for(elsewhere.ready, "the server is ready")
        assert elsewhere.run("dovetail", "run", "--name", "hello", "--", "echo", "it runs") == "it runs\n"
        assert "succeeded" in elsewhere.run("dovetail", "get", "hello")
    finally:
        server.terminate()
        assert server.wait(timeout=60) == 0
