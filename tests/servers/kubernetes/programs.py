"""Where the programs of a Kubernetes control plane are on this machine: etcd, kube-apiserver and kube-scheduler.

`KUBEBUILDER_ASSETS` names a folder of them, for whoever has them already. Otherwise they are one binary built from the
Go module in `go/` (`build.py`, which `make test-deps` calls) and kept in the user's cache, in a folder named for the
release and for everything that the binary is made from: a change there never meets an old binary. Looking builds
nothing.
"""

import hashlib
import os
import platform
import re
from pathlib import Path

SOURCES = Path(__file__).parent / "go"
BINARY = "dovetail-kube-test"


def command_of(program: str) -> list[str] | None:
    """The command line that starts a program, to which its flags are added; None where it is not on this machine."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / program).exists():
        return [str(Path(assets) / program)]
    if binary_path().exists():
        return [str(binary_path()), program]
    return None


def cache_folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "dovetail-tests"


def binary_path() -> Path:
    """Where the binary of the sources as they are now is kept, built or not."""
    digest = hashlib.sha256(platform.machine().encode())
    parts = [*SOURCES.glob("*.go"), *SOURCES.glob("go.*"), Path(__file__).with_name("build.py")]
    # By name, not by path: a clone elsewhere finds the same binary.
    for part in sorted(parts, key=lambda path: path.name):
        digest.update(part.read_bytes())
    return cache_folder() / f"kubernetes-{release()}-{digest.hexdigest()[:12]}" / BINARY


def release() -> str:
    """The release of Kubernetes that the module asks for, as in v1.36.4."""
    return _named_in_module(r"\bk8s\.io/kubernetes (v\S+)")


def go_release() -> str:
    """The oldest release of Go that may build it, as in 1.26.0."""
    return _named_in_module(r"^go (\S+)$")


def _named_in_module(pattern: str) -> str:
    found = re.search(pattern, (SOURCES / "go.mod").read_text(), re.MULTILINE)
    assert found is not None, f"{SOURCES / 'go.mod'} has no line like {pattern}"
    return found[1]
