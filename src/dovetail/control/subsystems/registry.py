"""Every subsystem, in the open: the built-in ones, and those that other packages offer (group `dovetail.subsystems`).

Guarantees: a package is loaded only when the settings name its subsystem, or when the command line lists commands; no
two subsystems share a name. An entry point refers to a `SubsystemDeclaration`.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dovetail.control.subsystems.declaration import SubsystemCommand, SubsystemDeclaration
from dovetail.model.plugin_loading import PluginError, load_object, load_plugin, offered_plugins

GROUP = "dovetail.subsystems"
_COST = "dovetail.control.cost"
_REBALANCING = "dovetail.control.rebalancing"
_SERVICES = "dovetail.control.service_controller"
_MODULE = "dovetail.control.subsystems.built_in"
_NETWORK = "dovetail.control.subsystems.network"
_TRENDS = "dovetail.control.trends"

BUILT_IN: dict[str, SubsystemDeclaration] = {
    one.name: one
    for one in (
        SubsystemDeclaration(
            "backend_health",
            f"{_MODULE}:BackendHealth",
            settings=f"{_MODULE}:BackendHealthSettings",
            metrics="dovetail.control.backends.metrics:BackendMetrics",
            always=True,
        ),
        SubsystemDeclaration(
            "services",
            f"{_SERVICES}.controller:ServiceController",
            shared=f"{_SERVICES}.book:ServiceBook",
            migrations=Path(__file__).parent.parent / "service_controller" / "revisions",
            always=True,
        ),
        SubsystemDeclaration(
            "rebalancing",
            f"{_REBALANCING}.rebalancer:Rebalancer",
            settings=f"{_REBALANCING}.rebalancer:RebalancingSettings",
            metrics=f"{_REBALANCING}.rebalancer:BalanceMetrics",
            shared=f"{_REBALANCING}.board:BalanceBoard",
            always=True,
        ),
        SubsystemDeclaration(
            "network",
            f"{_NETWORK}.measuring:NetworkMeasuring",
            settings=f"{_NETWORK}.settings:MeasuringSettings",
            metrics=f"{_NETWORK}.metrics:NetworkMetrics",
            migrations=Path(__file__).parent / "network" / "revisions",
            opens_later=True,
            shared=f"{_NETWORK}.probe_board:ProbeBoard",
            always=True,
        ),
        SubsystemDeclaration(
            "cost",
            f"{_COST}.accountant:Accountant",
            settings=f"{_COST}.settings:CostSettings",
            metrics=f"{_COST}.metrics:CostMetrics",
            migrations=Path(__file__).parent.parent / "cost" / "revisions",
            opens_later=True,
            shared=f"{_COST}.book:CostBook",
            always=True,
        ),
        SubsystemDeclaration(
            "trends",
            f"{_TRENDS}.recorder:TrendRecorder",
            settings=f"{_TRENDS}.recorder:TrendSettings",
            migrations=Path(__file__).parent.parent / "trends" / "revisions",
            opens_later=True,
            shared=f"{_TRENDS}.book:TrendBook",
            always=True,
        ),
        SubsystemDeclaration("hooks", f"{_MODULE}:Hooks", settings=f"{_MODULE}:HookSettings", hang_s=600.0),
    )
}


def find_subsystem(name: str) -> SubsystemDeclaration:
    """Raises PluginError."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    offered = offered_plugins(GROUP, BUILT_IN, "a subsystem")
    if name not in offered:
        from dovetail.model.text.strict import closest  # brings Pydantic, which a command line does not need

        known = [*BUILT_IN, *offered]
        raise PluginError(f"unknown subsystem {name!r}.{closest(name, known)} Known: {', '.join(known)}")
    found = load_plugin(offered[name], "subsystem")
    if not isinstance(found, SubsystemDeclaration) or found.name != name:
        raise PluginError(f"subsystem {name!r} ({offered[name].value}) needs a SubsystemDeclaration of the same name")
    return found


def checked_settings(declaration: SubsystemDeclaration, given: Mapping[str, Any]) -> Any:
    """Raises PluginError with everything that is wrong."""
    from pydantic import ValidationError

    from dovetail.model.text.validation_errors import faults_in_words

    model = load_object(declaration.settings)
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise PluginError(f"settings of subsystem {declaration.name!r}: {faults_in_words(error, model)}") from None


def subsystem_commands() -> Iterator[tuple[str, SubsystemCommand]]:
    """Commands of every subsystem that is installed; a package that cannot be loaded has none."""
    try:
        offered = offered_plugins(GROUP, BUILT_IN, "a subsystem")
    except PluginError:
        return
    for name in offered:
        try:
            yield from find_subsystem(name).commands.items()
        except PluginError:
            continue
