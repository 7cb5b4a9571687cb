"""The root file system of an image with Python, made of what this machine has: no registry and no index are asked.

It has busybox for a shell, the interpreter that runs the tests with its standard library and the shared libraries that
it needs, and installed distributions with what they depend on. Paths are those of the machine.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import IO

from packaging.requirements import Requirement

#: Parts of the standard library that no program here needs; `config-…` has what links programs in C.
LEFT_OUT = re.compile(r"/(test|tests|idlelib|turtledemo|tkinter|lib2to3|config-[^/]*|site-packages|dist-packages)(/|$)")
#: Where Debian keeps what `ensurepip` installs.
PIP_WHEELS = Path("/usr/share/python-wheels")


def write_python_root(file: IO[bytes], requirements: Iterable[str]) -> None:
    """Writes the tar."""
    base = BaseInterpreter()
    with tarfile.open(fileobj=file, mode="w|", dereference=False) as archive:
        root = Root(archive)
        root.folders("bin", "etc", "tmp", "proc", "sys", "dev", "var/lib")
        add_busybox(root)
        root.file(base.executable)
        root.link("usr/local/bin/python3", str(base.executable))
        root.tree(base.standard_library, leave_out=LEFT_OUT)
        if PIP_WHEELS.is_dir():
            root.tree(PIP_WHEELS)
        for name, place in distribution_files(closure(requirements)):
            root.file(place, at=base.packages / name)
        for library in shared_libraries([base.executable, *root.libraries]):
            root.file(library)


class BaseInterpreter:
    """The interpreter below this virtual environment."""

    def __init__(self) -> None:
        question = "import os, site; print(os.path.realpath(os.__file__)); print(site.getsitepackages()[0])"
        self.executable = Path(os.path.realpath(sys.executable))
        told = subprocess.run([self.executable, "-c", question], capture_output=True, text=True, check=True)
        where, packages = told.stdout.splitlines()
        self.standard_library = Path(where).parent
        self.packages = Path(packages)


class Root:
    """A tar to which parts of this machine are added under their own paths, each once, readable for everybody."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._has: set[str] = set()
        self.libraries: list[Path] = []

    def folders(self, *names: str) -> None:
        for name in names:
            self._parents(f"{name}/x")

    def link(self, name: str, target: str) -> None:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = tarfile.SYMTYPE, target
        self._add(info)

    def file(self, path: Path, at: Path | None = None) -> None:
        """The file itself where `path` is a link, so that what it points to need not be there."""
        info = self._archive.gettarinfo(str(path.resolve()), arcname=str(at or path).lstrip("/"))
        if not info.isreg():
            info = tarfile.TarInfo(info.name)
            info.size = path.stat().st_size
        info.mode, info.uid, info.gid = path.stat().st_mode & 0o777 | 0o444, 0, 0
        if ".so" in path.suffixes:
            self.libraries.append(path)
        with path.open("rb") as content:
            self._add(info, content)

    def tree(self, folder: Path, leave_out: re.Pattern[str] | None = None) -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not (leave_out and leave_out.search(str(path.parent.relative_to(folder.parent)))):
                self.file(path)

    def _add(self, info: tarfile.TarInfo, content: IO[bytes] | None = None) -> None:
        if info.name not in self._has:
            self._has.add(info.name)
            self._parents(info.name)
            self._archive.addfile(info, content)

    def _parents(self, name: str) -> None:
        for parent in reversed(Path(name).parents[:-1]):
            if str(parent) not in self._has:
                self._has.add(str(parent))
                info = tarfile.TarInfo(str(parent))
                info.type, info.mode = tarfile.DIRTYPE, 0o1777 if str(parent) == "tmp" else 0o755
                self._archive.addfile(info)


def add_busybox(root: Root) -> None:
    program = shutil.which("busybox")
    assert program is not None, "busybox is not installed"
    root.file(Path(program), at=Path("bin/busybox"))
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True)
    for applet in set(listed.stdout.split()) - {"busybox"}:
        root.link(f"bin/{applet}", "busybox")


def closure(requirements: Iterable[str]) -> list[Distribution]:
    """The installed distributions that meet these requirements, and those that they need."""
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        wanted = Requirement(waiting.pop())
        if wanted.name.lower() in found or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        try:
            found[wanted.name.lower()] = one = distribution(wanted.name)
        except PackageNotFoundError:
            raise AssertionError(f"{wanted} is not installed here") from None
        waiting += one.requires or []
    return list(found.values())


def distribution_files(distributions: Iterable[Distribution]) -> Iterator[tuple[str, Path]]:
    """(path below the folder of packages, file) of each; programs, compiled modules and tests are left out."""
    for one in distributions:
        for file in one.files or []:
            place = Path(str(one.locate_file(file)))
            if not {"..", "tests"} & set(file.parts) and file.suffix not in (".pyc", ".pth") and place.is_file():
                yield str(file), place


def shared_libraries(files: list[Path]) -> set[Path]:
    """What the loader finds outside of the packages for these programs and libraries, and the loader itself."""
    told = subprocess.run(["ldd", *files], capture_output=True, text=True)
    found = {Path(path) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(", told.stdout, re.MULTILINE)}
    return {path for path in found if not any(part in ("site-packages", "dist-packages") for part in path.parts)}
