"""Settings that only the settings file may give: paths of files that the server reads, programs that it runs.

Whoever adds a backend over the API speaks for himself; whoever writes the settings file owns the server. A path in a
request would make the server read any file, and send it to any address; a program would run as the server. A field is
marked once, in its type. So are folders of a host that workloads may mount, options that can name programs, and as
whom commands run.
"""

from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, Field

from dovetail.model.text.complaint import field_name


class SettingsFileOnly:
    """The mark: `Annotated[…, SETTINGS_FILE_ONLY]`."""


SETTINGS_FILE_ONLY = SettingsFileOnly()

#: The path of a file of the server, or of a program that it runs.
ServerFile = Annotated[str, Field(min_length=1, max_length=3000), SETTINGS_FILE_ONLY]


def settings_file_fields(settings: BaseModel) -> list[str]:
    """The marked fields that were given, at any depth: `hosts[0].ssh.program`."""
    return [field_name(path) for path in _given(settings, ())]


def _given(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        for name in fields:
            if name in value.model_fields_set:
                field = fields[name]
                marked = _is_mark(field.metadata) or _is_marked(field.annotation)
                yield from [(*path, name)] if marked else _given(getattr(value, name), (*path, name))
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _given(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _given(inner, (*path, place))


def _is_marked(annotation: Any) -> bool:
    """`ServerFile | None` keeps its mark inside."""
    if get_origin(annotation) is Annotated and _is_mark(annotation.__metadata__):
        return True
    return any(_is_marked(part) for part in get_args(annotation))


def _is_mark(metadata: Any) -> bool:
    return any(isinstance(one, SettingsFileOnly) for one in metadata)
