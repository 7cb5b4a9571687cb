"""Settings: file, variables, and mistakes named with their lines."""

from pathlib import Path

import pytest

from dovetail.control.settings import Settings, load_settings
from dovetail.model.text.complaint import Invalid


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def complaints(folder: Path, text: str, env: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(Invalid) as caught:
        load_settings(written(folder, text), env or {})
    return [str(complaint).replace(str(folder) + "/", "") for complaint in caught.value.complaints]


def test_without_a_file_everything_has_a_default() -> None:
    settings = load_settings(None, {})
    assert settings == Settings()
    assert list(settings.backends) == ["local"]


def test_variables_overlay_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "listen: {port: 9000}\nlogging:\n  level: warning\n")
    settings = load_settings(path, {"DOVETAIL_LISTEN__PORT": "9001", "DOVETAIL_DATA": "/tmp/x", "OTHER": "1"})
    assert settings.listen.port == 9001
    assert settings.logging.level == "warning"
    assert settings.folder == Path("/tmp/x")


def test_the_strategy_variable_names_the_default_profile(tmp_path: Path) -> None:
    path = written(tmp_path, "scheduling: {default_profile: balanced}\n")
    settings = load_settings(path, {"SCHEDULING_STRATEGY": "best_fit"})
    assert settings.scheduling.default_profile == "best_fit"


def test_an_unknown_strategy_is_an_invalid_strategy(tmp_path: Path) -> None:
    (said,) = complaints(tmp_path, "{}", {"SCHEDULING_STRATEGY": "bestfit"})
    assert "scheduling.default_profile: unknown profile 'bestfit'. Did you mean 'best_fit'?" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("listne: {port: 1}\n", "settings.yaml:1: listne: unknown field"),
        ("listen:\n  port: 99999\n", "settings.yaml:2: listen.port:"),
        ("backends:\n  a:\n    kind: lokal\n", "settings.yaml:2: backends.a: kind 'lokal' is not accepted."),
        ("backends:\n  a:\n    kind: local\n    grace: 3\n", "settings.yaml:4: backends.a"),
        ("loop: {slice: 5 parsecs}\n", "settings.yaml:1: loop.slice:"),
        ("scheduling:\n  profiles:\n    mine: {scores: {nosuch: 1}}\n", "settings.yaml:3: scheduling.profiles.mine"),
        ("scheduling:\n  schedulers:\n    x: {profile: nosuch}\n", "settings.yaml:3: scheduling.schedulers.x.profile"),
        ("scheduling:\n  schedulers:\n    x: {order: fare}\n", "settings.yaml:3: scheduling.schedulers.x.order"),
        ("scheduling:\n  profiles:\n    p: {order: lifo}\n", "settings.yaml:3: scheduling.profiles.p.order: unknown"),
        ("scheduling:\n  queues:\n    default: {queues: {a: {}}}\n", "settings.yaml:3: scheduling.queues.default"),
        ("scheduling:\n  queues:\n    a: {maximum: {cpu: 1},\n      guaranteed: {cpu: 2}}\n",
         "settings.yaml:3: scheduling.queues.a.maximum.cpu"),
        ("scheduling: {overcommit: {cpu: -1}}\n", "settings.yaml:1: scheduling.overcommit.cpu"),
        ("\tlisten: 1\n", "settings.yaml:1"),
        ("- a\n", "settings are a mapping"),
        ("a: 1\n---\nb: 2\n", "second document"),
    ],
)  # fmt: skip
def test_every_mistake_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    said = complaints(tmp_path, text)
    assert any(words in line for line in said), said


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read"):
        load_settings(tmp_path / "none.yaml", {})


def test_plugin_settings_are_checked_at_start(tmp_path: Path) -> None:
    text = "scheduling:\n  profiles:\n    mine:\n      settings:\n        resources: {basis: guessed}\n"
    (said,) = complaints(tmp_path, text)
    assert said.startswith("settings.yaml:")
    assert "basis" in said or "observed" in said


def test_a_mistake_in_a_variable_is_the_variables(tmp_path: Path) -> None:
    text = "listen: {port: 80}\n"
    assert complaints(tmp_path, text, {"DOVETAIL_LISTEN__PORT": "x"})[0].startswith(
        "variable DOVETAIL_LISTEN__PORT: listen.port:"
    )
    assert complaints(tmp_path, text, {"SCHEDULING_STRATEGY": "x"})[0].startswith("variable SCHEDULING_STRATEGY:")
    assert complaints(tmp_path, text, {"DOVETAIL_NOSUCH": "1"})[0].startswith(
        "variable DOVETAIL_NOSUCH: nosuch: unknown"
    )


MANY_MISTAKES = """\
listen: {port: 99999}
scheduling:
  default_profile: nope
  profiles:
    mine:
      filters: [nonsense]
      scores: {wrong: 3, load_balance: 2}
    other: {order: sideways}
  schedulers: {a: {profile: mine}}
  queues: {a: {guaranteed: {gpu: 10}, maximum: {gpu: 4}, colour: red}}
backends:
  x: {kind: dockr}
  y: {kind: simulated, groups: 5}
hooks: {foo: {}}
subsystems: {bar: {}}
retention: {finished: soon}
topology: /nowhere/topology.yaml
"""


def test_all_mistakes_of_a_file_are_named_in_one_run(tmp_path: Path) -> None:
    said = complaints(tmp_path, MANY_MISTAKES, {"DOVETAIL_LOOP__SLICE": "[", "DOVETAIL_LOOP__PARALLEL": "0"})
    for place in (
        "environment variable DOVETAIL_LOOP__SLICE",
        "variable DOVETAIL_LOOP__PARALLEL: loop.parallel: 0 is too small",
        "/nowhere/topology.yaml: cannot be read",
        "settings.yaml:1: listen.port: 99999 is too large",
        "settings.yaml:3: scheduling.default_profile: unknown profile 'nope'",
        "settings.yaml:6: scheduling.profiles.mine.filters[0]: unknown filter 'nonsense'",
        "settings.yaml:7: scheduling.profiles.mine.scores.wrong: unknown score 'wrong'",
        "settings.yaml:8: scheduling.profiles.other.order: unknown ordering 'sideways'",
        "settings.yaml:10: scheduling.queues.a.colour: unknown field 'colour'",
        "settings.yaml:10: scheduling.queues.a.maximum.gpu: 4 is less than the 10 guaranteed",
        "settings.yaml:12: backends.x: kind 'dockr' is not accepted",
        "settings.yaml:13: backends.y.groups: 5 is not accepted; write a list",
        "settings.yaml:14: hooks.foo: unknown hook 'foo'",
        "settings.yaml:15: subsystems.bar: unknown subsystem 'bar'",
        "settings.yaml:16: retention.finished: 'soon' is not a duration",
    ):
        assert sum(line.startswith(place) for line in said) == 1, (place, said)
    assert len(said) == 15


def test_a_profile_that_is_wrong_may_be_named_elsewhere(tmp_path: Path) -> None:
    text = "scheduling:\n  profiles: {mine: 5}\n  default_profile: mine\n"
    (said,) = complaints(tmp_path, text)
    assert said.startswith("settings.yaml:2: scheduling.profiles.mine: 5 is not accepted; write a mapping")


def test_settings_of_plugins_are_refused_in_our_words(tmp_path: Path) -> None:
    text = "scheduling:\n  profiles:\n    mine:\n      settings:\n        resources: {basis: guessed, colour: red}\n"
    (said,) = complaints(tmp_path, text)
    assert "basis: 'guessed' is not accepted" in said
    assert "colour: unknown field 'colour'" in said
    assert "Input should be" not in said
