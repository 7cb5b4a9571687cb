"""`dovetail kubernetes extender`: what is wrong with its options is said before anything listens."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from dovetail.cli.main import app
from dovetail.cli.terminal.failure import ExitCode

NOWHERE = ["--kubeconfig", "/does/not/exist"]


def ended(*options: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, ["kubernetes", "extender", *options])
    return found.exit_code, found.output


@pytest.mark.parametrize("options", [[], ["--tls-cert", "a.pem"], ["--tls-key", "a.pem"]], ids=str)
def test_without_a_certificate_it_does_not_start_unless_told_to(options: list[str]) -> None:
    code, words = ended(*options)
    assert code == ExitCode.USAGE
    assert "--insecure-http" in words
    code, words = ended("--insecure-http", *NOWHERE)
    assert "no way to a cluster" in words


def test_a_certificate_and_no_certificate_are_one_too_many() -> None:
    code, words = ended("--insecure-http", "--tls-cert", "a.pem", "--tls-key", "a.pem")
    assert code == ExitCode.USAGE
    assert "leave it out, or them" in words


def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pem"
    for text in (None, "nonsense"):
        if text is not None:
            bad.write_text(text)
        code, words = ended("--tls-cert", str(bad), "--tls-key", str(bad), *NOWHERE)
        assert code == ExitCode.USAGE
        assert str(bad) in words.replace("\n", "")


def test_settings_that_make_no_sense_are_named(tmp_path: Path) -> None:
    file, kubeconfig = tmp_path / "extender.yaml", tmp_path / "kubeconfig"
    cluster = {"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}
    context = {"name": "a", "context": {"cluster": "a", "user": ""}}
    kubeconfig.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "a"}))
    way = ["--insecure-http", "--port", "0", "--kubeconfig", str(kubeconfig), "--config", str(file)]
    for text, wrong in (
        ("keep_plans_s: 5", "keep_plans_s"),
        ("names: {default-scheduler: nothing}", "nothing"),
        ("names: {default-scheduler: own}\nprofiles: {own: {filters: [none_such]}}", "none_such"),
    ):
        file.write_text(text)
        code, words = ended(*way)
        assert code == ExitCode.USAGE
        assert wrong in words
