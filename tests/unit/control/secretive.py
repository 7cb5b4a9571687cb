"""A kind of backend with secrets in its settings, and a client that blurts them out when something goes wrong."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from dovetail.backends import registry
from dovetail.backends.contract import Assignment, Backend
from dovetail.backends.registry import BackendKind
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict

TOKEN, PASSWORD = "tok-6f1c0a9b77", "hunter2-and-more"


class Login(Strict):
    user: str
    word: SecretStr


class SecretiveSettings(SimulatedSettings):
    key: SecretStr
    login: Login | None = None
    others: dict[str, Login] = {}
    patience: Duration = 5.0


class Secretive(SimulatedBackend):
    fails = False

    def __init__(self, name: str, settings: SecretiveSettings) -> None:
        super().__init__(name, settings)
        self.key = settings.key.get_secret_value()

    async def bind(self, assignment: Assignment) -> None:
        if self.fails:
            raise ConnectionError(f"401 from https://x.example/?key={self.key}")
        await super().bind(assignment)


def offer(monkeypatch: pytest.MonkeyPatch) -> None:
    def build(name: str, settings: SecretiveSettings, folder: Path) -> Backend:
        return Secretive(name, settings)

    monkeypatch.setitem(registry.KINDS, "secretive", BackendKind(SecretiveSettings, build))


ENTRY = {
    "kind": "secretive",
    "groups": [{"count": 2, "prefix": "far"}],
    "forever": True,
    "patience": "2m",
    "key": TOKEN,
    "login": {"user": "ann", "word": PASSWORD},
    "others": {"b": {"user": "bob", "word": PASSWORD + "-too"}},
}
