"""Entry points: plugins that other packages offer, found by group and loaded only when they are used.

Guarantees: no two plugins of a group share a name, and none takes the name of a built-in one; a package that nobody
uses is never imported, so a broken one hurts nobody. Left to others: what a group is for, and whether a loaded plugin
keeps to the contract of its kind.
"""

import os
import sys
from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, cast


class PluginError(Exception):
    """A plugin is missing, double, or cannot be built; says which and what to do."""


def offered_plugins(
    group: str, built_in: Collection[str] = (), called: str = "a plugin", noun: str = "one"
) -> dict[str, EntryPoint]:
    """By name, not loaded yet. Raises PluginError; `called` and `noun` are its words for a plugin of this group."""
    found: dict[str, EntryPoint] = {}
    for point in installed_entry_points().select(group=group):
        if point.name in built_in:
            raise PluginError(f"{called} {point.name!r} in {group} has the name of a built-in {noun}; rename it")
        if point.name in found:
            raise PluginError(f"two packages offer {called} {point.name!r} in {group}; uninstall one of them")
        found[point.name] = point
    return found


def installed_entry_points() -> EntryPoints:
    """Those of all groups. Reading them opens a file of every installed package, so it is done once, and again when a
    folder of the path has changed."""
    return _entry_points(tuple((folder, _changed_ns(folder)) for folder in sys.path))


@lru_cache(maxsize=1)
def _entry_points(path: tuple[tuple[str, int], ...]) -> EntryPoints:  # noqa: ARG001 - the key of the cache
    return cast("EntryPoints", entry_points())  # of another class in Python 3.11, which can select as well


def _changed_ns(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - an entry of the path may be any text
    except OSError:
        return 0


def load_plugin(point: EntryPoint, noun: str = "plugin") -> Any:
    """Raises PluginError, whatever the package raises."""
    try:
        return point.load()
    except Exception as error:
        raise PluginError(f"{noun} {point.name!r} ({point.value}) cannot be loaded: {error}") from error


def class_of(plugin: type[Any] | EntryPoint) -> Any:
    """A built-in plugin as it is, one of another package loaded. Told by what is a class: where somebody has imported
    `importlib_metadata`, as Dask does, it finds entry points in place of Python and gives its own."""
    return plugin if isinstance(plugin, type) else load_plugin(plugin)


def load_object(reference: str) -> Any:
    """What `module:name` refers to. Raises PluginError, whatever the module raises."""
    module, _, name = reference.partition(":")
    try:
        return getattr(import_module(module), name)
    except Exception as error:
        raise PluginError(f"{reference} cannot be loaded: {type(error).__name__}: {error}") from error
