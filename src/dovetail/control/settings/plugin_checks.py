"""Builds every profile, plugin, ordering, queue and topology that the settings name, so that mistakes show at start."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dovetail.control.settings.server import Settings
from dovetail.control.settings.topology_file import read_topology_file
from dovetail.control.subsystems.registry import checked_settings, find_subsystem
from dovetail.engine.settings import EngineSettings
from dovetail.model.plugin_loading import PluginError
from dovetail.model.text.complaint import Complaint, Invalid, field_name
from dovetail.model.text.document import Document
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.profiles import ProfileSettings, UnknownProfile
from dovetail.placement.registry import build_filter, build_hook, build_score
from dovetail.queueing.orderings import OrderingError, build_ordering
from dovetail.queueing.tree import DEFAULT_QUEUE, BadQueues, QueueTree

Building = Callable[..., AbstractContextManager[None]]


def plugin_mistakes(settings: Settings, document: Document) -> list[Complaint]:
    """A complaint about each, at the line of the document that names it."""
    complaints: list[Complaint] = []

    @contextmanager
    def building(*field: str | int) -> Iterator[None]:
        try:
            yield
        except (PluginError, OrderingError, BadQueues) as error:
            complaints.append(Complaint(document.source, document.line_of(field), field_name(field), str(error)))

    _check_scheduling(settings.scheduling, building, _written_profiles(document))
    for name, given in settings.hooks.items():
        with building("hooks", name):
            build_hook(name, given)
    for name, given in settings.subsystems.items():
        with building("subsystems", name):
            checked_settings(find_subsystem(name), given)
    try:
        read_topology_file(settings.topology)
    except Invalid as invalid:
        complaints += invalid.complaints
    return complaints


def _written_profiles(document: Document) -> set[str]:
    """Names of profiles in the document, also of those that are wrong: to name one of them is no second mistake."""
    data: Any = document.data
    scheduling = data.get("scheduling")
    profiles = scheduling.get("profiles") if isinstance(scheduling, dict) else None
    return set(profiles) if isinstance(profiles, dict) else set()


def _check_scheduling(scheduling: EngineSettings, building: Building, written: set[str]) -> None:
    profiles = scheduling.all_profiles()
    named: dict[tuple[str, ...], str] = {("default_profile",): scheduling.default_profile}
    orders = {("profiles", name, "order"): profile.order for name, profile in profiles.items()}
    for name, scheduler in scheduling.schedulers.items():
        if scheduler.profile is not None:
            named["schedulers", name, "profile"] = scheduler.profile
        if scheduler.order is not None:
            orders["schedulers", name, "order"] = scheduler.order
    for field, profile in named.items():
        with building("scheduling", *field):
            if profile not in profiles and profile not in written:
                raise PluginError(str(UnknownProfile(profile, list(profiles))))
    for name, profile_settings in profiles.items():
        _check_profile(name, profile_settings, building)
    with building("scheduling", "strategies"):
        scheduling.all_strategies()
    for order_field, order in orders.items():
        with building("scheduling", *order_field):
            build_ordering(order, scheduling.fair.ageing)
    with building("scheduling", "queues", DEFAULT_QUEUE):
        QueueTree(scheduling.queues)


def _check_profile(name: str, profile: ProfileSettings, building: Building) -> None:
    """Each plugin by itself, so that all that are wrong are named; a profile of good ones as a whole."""
    good = True
    filters = [(("filters", place), plugin, build_filter) for place, plugin in enumerate(profile.filters)]
    scores = [(("scores", plugin), plugin, build_score) for plugin in profile.scores]
    for field, plugin, build in [*filters, *scores]:
        if plugin in profile.settings:
            continue  # what is wrong with its settings, the profile says
        with building("scheduling", "profiles", name, *field):
            try:
                build(plugin, {})
            except PluginError:
                good = False
                raise
    if good:
        with building("scheduling", "profiles", name):
            Evaluator(name, profile)
