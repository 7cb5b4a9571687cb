"""Where Helm is on this machine, and how it is built for the tests: `python -m tests.servers.helm.programs`.

A `helm` of release 3 that is installed is used. Otherwise it is built from the Go module in `go/` (`make test-deps`)
and kept in the user's cache. Looking builds nothing.
"""

import shutil
import subprocess
from pathlib import Path

from tests.servers.go_programs import GoProgram, named_in_module

SOURCES = Path(__file__).parent / "go"


def helm_path() -> Path | None:
    """None where Helm is not on this machine."""
    return installed_helm() or (program().path() if program().path().exists() else None)


def installed_helm() -> Path | None:
    found = shutil.which("helm")
    if found is None:
        return None
    told = subprocess.run([found, "version", "--short"], capture_output=True, text=True)
    return Path(found) if told.stdout.startswith("v3.") else None


def program() -> GoProgram:
    """As Helm's own releases are linked: it assumes the release of Kubernetes whose libraries it has."""
    minor = named_in_module(SOURCES, r"\bk8s\.io/client-go v0\.(\d+)")
    versions: dict[str, str] = {}
    for package in ("helm.sh/helm/v3/pkg/chartutil", "helm.sh/helm/v3/pkg/lint/rules"):
        versions |= {f"{package}.k8sVersionMajor": "1", f"{package}.k8sVersionMinor": minor}
    return GoProgram(
        f"helm-{release()}",
        "helm",
        SOURCES,
        package="helm.sh/helm/v3/cmd/helm",
        stamps={"helm.sh/helm/v3/internal/version.version": release(), **versions},
        without_it="install Helm 3",
    )


def release() -> str:
    return named_in_module(SOURCES, r"\bhelm\.sh/helm/v3 (v\S+)")


if __name__ == "__main__":
    ready = installed_helm() or program().build(f"building Helm {release()} for the tests (once, about a minute)…")
    print(f"Helm for the tests is ready: {ready}")
