"""Hooks hear of every placement, on a thread of their own, and one that fails hurts no other."""

import asyncio
import queue
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dovetail.control.settings import Settings
from dovetail.control.subsystems.built_in import Hooks, HookSettings
from dovetail.control.subsystems.contract import DurableStep, SubsystemContext
from dovetail.control.subsystems.host import SubsystemHost
from dovetail.model.batch import Batch, Changes
from dovetail.model.reason import Explanation
from dovetail.model.record import Decision
from dovetail.model.task import TaskId


class Recording:
    def __init__(self) -> None:
        self.heard: queue.Queue[tuple[str, str, str]] = queue.Queue()

    def on_scheduled(self, task: str, workload: str, node: str, explanation: dict[str, Any]) -> None:
        assert explanation["outcome"] == "placed"
        self.heard.put((task, workload, node))


class Failing:
    def on_scheduled(self, *_: object) -> None:
        raise OSError("no such host")


def decision(replica: int, node: str | None) -> Decision:
    outcome = "placed" if node else "insufficient_resources"
    return Decision(TaskId(7, replica), 1, 0.0, node, Explanation(outcome, "", "balanced", 1, ()))


def test_a_failing_hook_does_not_keep_the_next_from_hearing(monkeypatch: pytest.MonkeyPatch) -> None:
    recording = Recording()
    built = {"failing": Failing(), "recording": recording}
    monkeypatch.setattr("dovetail.control.subsystems.built_in.build_hook", lambda name, _: built[name])
    settings = HookSettings(hooks={"failing": {}, "recording": {}})
    hooks = Hooks(cast("SubsystemContext", SimpleNamespace(settings=settings)))
    changes = Changes(decisions=[decision(0, "n1"), decision(1, None), decision(2, "n2")])
    asyncio.run(hooks.take(DurableStep(Batch(changes=changes), {7: "train"})))
    assert recording.heard.get(timeout=10) == ("7.0", "train", "n1")
    assert recording.heard.get(timeout=10) == ("7.2", "train", "n2"), "what waits is not placed"


def test_without_hooks_nothing_is_started(tmp_path: Path) -> None:
    always = ["backend_health", "cost", "network", "rebalancing", "services", "trends"]
    assert sorted(SubsystemHost(Settings().subsystem_settings(), tmp_path)._hosted) == always
    named = Settings(hooks={"some": {}}).subsystem_settings()
    assert sorted(SubsystemHost(named, tmp_path)._hosted) == sorted(["hooks", *always])
