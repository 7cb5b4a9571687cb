"""The Kubernetes programs are found where they are, and built once for what they are built from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.servers.go_programs import go_release
from tests.servers.kubernetes import programs
from tests.servers.kubernetes.programs import binary_path, command_of, release

REPOSITORY = Path(__file__).parents[3]
STAND_IN = """#!/bin/sh
case $1 in
    env) echo go99.0 ;;
    build)
        echo build >>"$BUILDS"
        sleep 1  # long enough for the other to come
        while [ "$1" != -o ]; do shift; done
        echo made >"$2" ;;
esac
"""


def test_programs_that_somebody_has_already_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kube-apiserver").touch()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert command_of("kube-apiserver") == [str(tmp_path / "kube-apiserver")]
    assert command_of("kube-scheduler") is None


def test_a_built_binary_is_all_the_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert command_of("etcd") is None
    binary_path().parent.mkdir(parents=True)
    binary_path().touch()
    assert command_of("etcd") == [str(binary_path()), "etcd"]


def test_other_sources_are_another_binary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = binary_path()
    for source in programs.SOURCES.iterdir():
        (tmp_path / source.name).write_bytes(source.read_bytes())
    monkeypatch.setattr(programs, "SOURCES", tmp_path)
    assert binary_path() == before
    (tmp_path / "main.go").write_text("package main\n")
    assert binary_path() != before


def test_the_module_names_one_release_of_kubernetes_and_its_libraries() -> None:
    library = release().replace("v1.", "v0.", 1)
    replaced = [line.split() for line in (programs.SOURCES / "go.mod").read_text().splitlines() if "=>" in line]
    assert {(words[0], words[3]) for words in replaced} == {(words[2], library) for words in replaced}
    assert go_release(programs.SOURCES) == "1.26.0"


def test_two_who_want_it_at_once_build_it_once(tmp_path: Path) -> None:
    go = tmp_path / "go"
    go.write_text(STAND_IN)
    go.chmod(0o755)
    log = tmp_path / "builds"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path), "BUILDS": str(log)}
    command = [sys.executable, "-m", "tests.servers.kubernetes.build"]
    both = [
        subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    answers = [process.communicate()[0].splitlines()[-1] for process in both]
    assert answers[0] == answers[1]
    assert Path(answers[0].split(": ")[-1]).read_text() == "made\n"
    assert log.read_text() == "build\n"
