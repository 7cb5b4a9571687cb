"""Maps Pydantic's error locations to the user's field paths.

Guarantees: `path` is the location without Pydantic's additions (`[key]` marks, names of union members). The fields
known at its end are found by walking the model class. Without a model, the path is the location unchanged.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Sequence as AbcSequence
from types import UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, RootModel, SecretBytes, SecretStr
from pydantic.fields import FieldInfo

DEEPEST = 4  # levels below a field that are searched for secrets
_LISTS = (list, tuple, set, frozenset, AbcSequence)


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def other_names(info: FieldInfo) -> list[str]:
    """The aliases of a field."""
    alias = info.validation_alias or info.alias
    if isinstance(alias, AliasChoices):
        return [choice for choice in alias.choices if isinstance(choice, str)]
    return [alias] if isinstance(alias, str) else []


def _members(annotation: Any) -> list[Any]:
    """The types that the annotation allows, without None."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [kind for member in get_args(annotation) if member is not type(None) for kind in _members(member)]
    if _is_model(annotation) and issubclass(annotation, RootModel):
        return _members(annotation.model_fields["root"].annotation)
    return [annotation]


def _inside(kind: Any, part: str | int) -> list[Any]:
    """The types of the element `part` of a value of this type; empty if there is none."""
    if _is_model(kind):
        for name, info in kind.model_fields.items():
            if part == name or part in other_names(info):
                return _members(info.annotation)
        return []
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(part, int) and origin in _LISTS and arguments:
        return _members(arguments[0])
    if origin in (dict, Mapping) and len(arguments) == 2:
        return _members(arguments[1])
    return []


def _is_tagged(kind: Any, part: str | int) -> bool:
    """Is `part` Pydantic's name of this union member?"""
    if not _is_model(kind):
        return False
    return part == kind.__name__ or any(
        get_origin(info.annotation) is Literal and part in get_args(info.annotation)
        for info in kind.model_fields.values()
    )


class Location:
    """The end of a path into a model."""

    def __init__(self, model: type[BaseModel] | None, location: Iterable[str | int]) -> None:
        self.path: tuple[str | int, ...] = ()
        self._around: list[Any] = []
        self._here: list[Any] = _members(model) if model else []
        for part in location:
            if part != "[key]":
                self._follow(part)

    def _follow(self, part: str | int) -> None:
        inner = [found for kind in self._here for found in _inside(kind, part)]
        if not inner and len(self._here) > 1:
            tagged = [kind for kind in self._here if _is_tagged(kind, part)]
            if tagged or not all(_is_model(kind) for kind in self._here):
                self._here = tagged or self._here
                return
        self._around, self._here = self._here, inner
        self.path += (part,)

    @property
    def holds_secret(self) -> bool:
        """Is the value here a secret, or may it contain one?"""
        return any(_is_secret(kind, DEEPEST) for kind in self._here)

    def fields_around(self) -> dict[str, FieldInfo]:
        """The sibling fields at the end of the path."""
        return _fields(self._around)

    def fields_below(self, name: str) -> list[str]:
        """The sibling fields that have a field of this name."""
        return [
            field
            for field, info in self.fields_around().items()
            if any(_is_model(kind) and name in kind.model_fields for kind in _members(info.annotation))
        ]

    def fields_here(self) -> dict[str, FieldInfo]:
        """The fields of the value at the end of the path."""
        return _fields(self._here)


def _is_secret(kind: Any, deep: int) -> bool:
    if kind in (SecretStr, SecretBytes):
        return True
    if not deep:
        return False
    inner = [info.annotation for info in kind.model_fields.values()] if _is_model(kind) else get_args(kind)
    return any(_is_secret(member, deep - 1) for each in inner for member in _members(each))


def _fields(kinds: list[Any]) -> dict[str, FieldInfo]:
    return {name: info for kind in kinds if _is_model(kind) for name, info in kind.model_fields.items()}
