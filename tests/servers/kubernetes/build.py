"""Builds the Kubernetes programs for tests, once a machine: `python -m tests.servers.kubernetes.build`."""

from pathlib import Path

from tests.servers.kubernetes.programs import program, release


def build() -> Path:
    """The binary, built now unless it is there already."""
    return program().build(f"building Kubernetes {release()} for the tests (once, about ten minutes on two cores)…")


if __name__ == "__main__":
    print(f"the Kubernetes programs for the tests are ready: {build()}")
