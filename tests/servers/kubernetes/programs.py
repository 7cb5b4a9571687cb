"""Where the programs of a Kubernetes control plane are on this machine: etcd, kube-apiserver and kube-scheduler.

`KUBEBUILDER_ASSETS` names a folder of them, for whoever has them already. Otherwise they are one binary built from the
Go module in `go/` (`build.py`, which `make test-deps` calls) and kept in the user's cache. Looking builds nothing.
"""

import os
from pathlib import Path

from tests.servers.go_programs import GoProgram, named_in_module

SOURCES = Path(__file__).parent / "go"
BINARY = "dovetail-kube-test"


def command_of(name: str) -> list[str] | None:
    """The command line that starts a program, to which its flags are added; None where it is not on this machine."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets and (Path(assets) / name).exists():
        return [str(Path(assets) / name)]
    if binary_path().exists():
        return [str(binary_path()), name]
    return None


def program() -> GoProgram:
    major, minor, _ = release().removeprefix("v").split(".", 2)
    version = "k8s.io/component-base/version"
    return GoProgram(
        f"kubernetes-{release()}",
        BINARY,
        SOURCES,
        stamps={
            f"{version}.gitVersion": release(),
            f"{version}.gitMajor": major,
            f"{version}.gitMinor": minor,
        },
        without_it="set KUBEBUILDER_ASSETS to a folder that has etcd, kube-apiserver and kube-scheduler",
    )


def binary_path() -> Path:
    """Where the binary of the sources as they are now is kept, built or not."""
    return program().path()


def release() -> str:
    """The release of Kubernetes that the module asks for, as in v1.36.4."""
    return named_in_module(SOURCES, r"\bk8s\.io/kubernetes (v\S+)")
