"""The base of everything a user writes: unknown fields are errors, values do not change after reading."""

import difflib
import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._-]?[A-Za-z0-9]+)*", re.ASCII)
MAX_NAME = 100


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def check_name(value: str) -> str:
    if len(value) > MAX_NAME:
        raise ValueError(f"is {len(value)} characters long; a name has at most {MAX_NAME}")
    if not NAME.fullmatch(value):
        raise ValueError(
            f"{value!r} is not a name; start with a letter, go on with letters and digits, and separate words "
            "with a single '-', '_' or '.' (ASCII only, no spaces or slashes)"
        )
    return value


Name = Annotated[str, AfterValidator(check_name)]


def closest(word: str, known: Iterable[str]) -> str:
    """' Did you mean …?' or nothing: appended to an error about an unknown word."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
