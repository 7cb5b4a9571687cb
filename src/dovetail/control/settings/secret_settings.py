"""Secrets in settings: found by their type (`pydantic.SecretStr`), masked in output, and removed from messages.

Guarantees: the result of `masked` holds no secret at any depth; a text that went through `cleaner` holds none as it was
written. Left to others: storing secrets (`secret_box`).
"""

from collections.abc import Callable, Iterator
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import to_jsonable_python

MASK = "•••"
SHORTEST_CLEANED = 4  # shorter ones occur in ordinary words, and protect nothing


def plain_data(settings: BaseModel, secret: Callable[[str], Any]) -> dict[str, Any]:
    """The settings that were given, as JSON has them, with `secret(value)` in place of each secret."""

    def walk(value: Any) -> Any:
        if isinstance(value, SecretStr):
            return secret(value.get_secret_value())
        if isinstance(value, SecretBytes):
            return secret(value.get_secret_value().decode(errors="replace"))
        if isinstance(value, BaseModel):
            rest = value.model_dump(mode="json", exclude_unset=True)
            if not _holds(value):
                return rest
            return {name: walk(inner) if _holds(inner) else rest.get(name) for name, inner in _given(value)}
        if isinstance(value, dict):
            return {to_jsonable_python(key): walk(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [walk(inner) for inner in value]
        return to_jsonable_python(value)

    found: dict[str, Any] = walk(settings)
    return found


def masked(settings: BaseModel) -> dict[str, Any]:
    return plain_data(settings, lambda _: MASK)


def secrets_in(settings: BaseModel) -> list[str]:
    found: list[str] = []
    plain_data(settings, found.append)
    return found


def cleaner(settings: BaseModel | None) -> Callable[[str], str]:
    """A function that masks the secrets of these settings in a text, such as an error of a client."""
    known = secrets_in(settings) if settings is not None else []
    long_enough = sorted({secret for secret in known if len(secret) >= SHORTEST_CLEANED}, key=len, reverse=True)

    def clean(text: str) -> str:
        for secret in long_enough:
            text = text.replace(secret, MASK)
        return text

    return clean


def _given(model: BaseModel) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in model if name in model.model_fields_set)


def _holds(value: Any) -> bool:
    """Whether a secret may be in there. Everything else is left to the model's own way of writing itself."""
    if isinstance(value, SecretStr | SecretBytes):
        return True
    if isinstance(value, BaseModel):
        return any(_holds(inner) for _, inner in _given(value))
    if isinstance(value, dict):
        return any(_holds(inner) for inner in value.values())
    return isinstance(value, list | tuple | set | frozenset) and any(_holds(inner) for inner in value)
