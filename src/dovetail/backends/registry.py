"""The registry of backend kinds: the settings of each, and how to build one. Code loads only for kinds in use.

Guarantees: an entry of the settings names a kind that exists and has valid settings, or the error names the field; a
kind of another package (entry point group `dovetail.backends`) is loaded only when an entry names it, so a broken
package that is not used does no harm; no two kinds share a name.

An entry point is any object with `Settings`, a `Strict` model, and `build(name, settings, folder)`; if it has
`check(settings)`, that is called before one is added, and raises UnusableSetting. A field that holds
a secret is a `pydantic.SecretStr`: it is never shown, and is encrypted where entries are stored.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from pydantic import (
    BaseModel,
    ConfigDict,
    ModelWrapValidatorHandler,
    SerializationInfo,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from dovetail.backends.aws_lambda.settings import LambdaSettings
from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.azure_functions.settings import AzureFunctionsSettings
from dovetail.backends.contract import Backend
from dovetail.backends.docker.settings import DockerSettings
from dovetail.backends.ec2.settings import Ec2Settings
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.backends.local.settings import LocalSettings
from dovetail.backends.metal.settings import MetalSettings
from dovetail.backends.pbs.settings import PbsSettings
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.model.plugin_loading import PluginError, load_plugin, offered_plugins
from dovetail.model.text.strict import Strict, closest, shown
from dovetail.model.text.validation_errors import complaints_of

GROUP = "dovetail.backends"


@dataclass(frozen=True, slots=True)
class BackendKind:
    """`build` gets the backend's name, its validated settings and a folder of its own on disk. `check` gets the
    settings of one that is to be added, and raises UnusableSetting."""

    settings: type[Strict]
    build: Callable[[str, Any, Path], Backend]
    check: Callable[[Any], None] = lambda _: None


def _built_in(settings: type[Strict], backend: str, check: str = "") -> BackendKind:
    """`backend`: its class, or a function that makes one, imported when the first one is built, so that its libraries
    load only if it is used; so is `check`, a function."""

    def build_one(name: str, settings: Strict, folder: Path) -> Backend:
        found: Backend = pkgutil.resolve_name(f"dovetail.backends.{backend}")(name, settings, folder)
        return found

    def check_one(settings: Strict) -> None:
        if check:
            pkgutil.resolve_name(f"dovetail.backends.{check}")(settings)

    return BackendKind(settings, build_one, check_one)


KINDS: dict[str, BackendKind] = {
    "aws_lambda": _built_in(LambdaSettings, "aws_lambda.backend:LambdaBackend", "aws_lambda.check:check_library"),
    "azure_functions": _built_in(AzureFunctionsSettings, "azure_functions.backend:AzureFunctionsBackend"),
    "azure": _built_in(AzureSettings, "azure.backend:azure_backend", "azure.check:check_sdk"),
    "docker": _built_in(DockerSettings, "docker.backend:DockerBackend", "docker.check:check_sockets"),
    "ec2": _built_in(Ec2Settings, "ec2.backend:ec2_backend", "ec2.check:check_sdk"),
    "gcp": _built_in(GcpSettings, "gcp.backend:gcp_backend", "gcp.check:check_sdk"),
    "kubernetes": _built_in(
        KubernetesSettings, "kubernetes.backend:KubernetesBackend", "kubernetes.check:check_access"
    ),
    "libvirt": _built_in(LibvirtSettings, "libvirt.backend:LibvirtBackend", "libvirt.check:check_access"),
    "local": _built_in(LocalSettings, "local.backend:LocalBackend"),
    "metal": _built_in(MetalSettings, "metal.backend:MetalBackend", "metal.check:check_programs"),
    "pbs": _built_in(PbsSettings, "pbs.backend:PbsBackend", "pbs.check:check_commands"),
    "simulated": _built_in(SimulatedSettings, "simulated.backend:SimulatedBackend"),
    "slurm": _built_in(SlurmSettings, "slurm.backend:SlurmBackend", "slurm.check:check_commands"),
}


class UnknownKind(ValueError):
    """There is no such kind, or it cannot be used. The message lists the kinds there are."""


@cache
def offered() -> dict[str, EntryPoint]:
    """The kinds of other packages, not loaded yet."""
    try:
        return offered_plugins(GROUP, KINDS, "the kind")
    except PluginError as error:
        raise UnknownKind(str(error)) from None


def kind_names() -> list[str]:
    return [*KINDS, *offered()]


def find_kind(name: str) -> BackendKind:
    """Raises UnknownKind."""
    if name in KINDS:
        return KINDS[name]
    point = offered().get(name)
    if point is None:
        known = kind_names()
        raise UnknownKind(f"kind {shown(name)} is not accepted.{closest(name, known)} Write one of: {', '.join(known)}")
    try:
        found = load_plugin(point, "kind")
    except PluginError as error:
        raise UnknownKind(str(error)) from error
    settings, build_one = getattr(found, "Settings", None), getattr(found, "build", None)
    if not (isinstance(settings, type) and issubclass(settings, Strict)) or not callable(build_one):
        needs = "a `Settings` model derived from dovetail.model.text.strict.Strict and `build(name, settings, folder)`"
        raise UnknownKind(f"kind {name!r} ({point.value}) is no backend: it needs {needs}")
    check = getattr(found, "check", None)
    return BackendKind(settings, build_one, check) if callable(check) else BackendKind(settings, build_one)


class BackendEntry(BaseModel):
    """A backend as the settings name it: its kind, and the settings of that kind."""

    model_config = ConfigDict(frozen=True)

    kind: str
    """What it is: `local`, `docker`, `slurm`, `kubernetes` or another built-in kind, or a kind of another package."""
    settings: Strict
    """The settings of that kind; they stand beside `kind`."""

    @classmethod
    def of(cls, kind: str, **settings: Any) -> "BackendEntry":
        return cls.model_validate({"kind": kind, **settings})

    @model_validator(mode="wrap")
    @classmethod
    def _by_kind(cls, value: Any, handler: ModelWrapValidatorHandler["BackendEntry"]) -> "BackendEntry":
        if isinstance(value, cls):
            return handler(value)
        if not isinstance(value, Mapping):
            raise UnknownKind(f"{shown(value)} is not accepted; write a mapping of fields, the first of them kind")
        if "kind" not in value:
            raise UnknownKind(f"needs the field kind, which says what it is: {', '.join(kind_names())}")
        kind, given = value["kind"], {name: each for name, each in value.items() if name != "kind"}
        settings = find_kind(kind if isinstance(kind, str) else shown(kind)).settings
        try:
            return cls.model_construct(kind=kind, settings=settings.model_validate(given))
        except ValidationError as error:
            raise _in_words(error, settings) from None

    @model_serializer(mode="plain")
    def _flat(self, info: SerializationInfo) -> dict[str, Any]:
        unset = bool(info.exclude_unset)
        mode = "json" if info.mode_is_json() else "python"
        return {"kind": self.kind, **self.settings.model_dump(mode=mode, exclude_unset=unset)}


def _in_words(error: ValidationError, settings: type[Strict]) -> ValidationError:
    """The same errors with messages for this kind's fields, and without the input, which may be a secret."""
    details = error.errors(include_url=False)
    return ValidationError.from_exception_data(
        error.title,
        [
            InitErrorDetails(
                type=PydanticCustomError("backend_settings", complaint.message), loc=detail["loc"], input=None
            )
            for detail, complaint in zip(details, complaints_of(error, settings), strict=False)
        ],
    )


def check_entry(entry: BackendEntry) -> None:
    """Raises UnusableSetting for a backend that could never work as things are here."""
    find_kind(entry.kind).check(entry.settings)


def build(name: str, entry: BackendEntry, folder: Path) -> Backend:
    """`folder` is the backend's own folder on disk."""
    return find_kind(entry.kind).build(name, entry.settings, folder)
