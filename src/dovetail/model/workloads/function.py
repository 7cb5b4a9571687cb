"""The section `function` of a workload: which function is called, and with what.

A function is known by its name. Its nodes have the label `function` with that name, so a function that is deployed in
several regions or clouds is one workload with several places to run. Addresses and keys of functions stand in the
settings of backends, never in workloads.
"""

import json
import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue

from dovetail.model.text.quantity import Duration
from dovetail.model.text.strict import Strict, shown, text_format
from dovetail.model.workloads.limits import MAX_PAYLOAD_BYTES

FUNCTION_LABEL, REGION_LABEL, ACCOUNT_LABEL = "function", "region", "account"
MAX_FUNCTION_NAME = 140
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?", re.ASCII)
_ARN = re.compile(r"arn:aws[a-z-]*:lambda:([a-z0-9-]+):(\d{12}):function:([A-Za-z0-9_-]+)", re.ASCII)
_ARN_FORM = "arn:aws:lambda:REGION:ACCOUNT:function:NAME"


def _check_name(value: str) -> str:
    if "://" in value:
        words = "is an address; give the name of the function, and its address in the settings of a backend"
        raise ValueError(f"{shown(value)} {words}")
    if value.startswith("arn:"):
        if not _ARN.fullmatch(value):
            raise ValueError(
                f"{shown(value)} is not the ARN of a function; write {_ARN_FORM}, and give the qualifier apart"
            )
    elif len(value) > MAX_FUNCTION_NAME or not _NAME.fullmatch(value):
        words = f"write at most {MAX_FUNCTION_NAME} letters, digits, '-' and '_' (ASCII only), or {_ARN_FORM}"
        raise ValueError(f"{shown(value)} is not the name of a function; {words}")
    return value


def _check_payload(value: JsonValue) -> JsonValue:
    size = payload_bytes(value)
    if size > MAX_PAYLOAD_BYTES:
        words = f"has {size} bytes as JSON; at most {MAX_PAYLOAD_BYTES} are accepted"
        raise ValueError(f"{words}: put the data into a store, and give the function its address")
    return value


def payload_bytes(value: Any) -> int:
    """How long it is as JSON. Raises ValueError for what JSON cannot say."""
    try:
        return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode(errors="surrogatepass"))
    except RecursionError:
        raise ValueError("is nested too deeply; write it flatter") from None
    except ValueError:
        raise ValueError("holds a number that is not finite, which JSON cannot say") from None


FunctionName = Annotated[str, AfterValidator(_check_name), text_format("function-name", least=1, most=300)]


class FunctionCall(Strict):
    """A call of a function: its name or ARN, and the JSON value that it is given. `identify`: a payload that is an
    object gets the field `dovetail`, with the idempotency key of the attempt and the number of the task."""

    name: FunctionName
    payload: Annotated[JsonValue, AfterValidator(_check_payload)] = None
    qualifier: Annotated[str, Field(pattern=r"^(\$LATEST|[A-Za-z0-9_-]{1,128})$")] | None = None
    timeout: Annotated[Duration, Field(gt=0, le=86400)] | None = None
    identify: bool = True

    @property
    def bare_name(self) -> str:
        return self.name.rpartition(":")[2]

    def selector(self) -> dict[str, str]:
        """The labels of nodes that have the function."""
        found = _ARN.fullmatch(self.name)
        if found is None:
            return {FUNCTION_LABEL: self.name}
        return {FUNCTION_LABEL: found[3], REGION_LABEL: found[1], ACCOUNT_LABEL: found[2]}


def selector_in(data: dict[str, Any]) -> dict[str, str]:
    """The labels that the section of an unread workload asks for; none if it is not valid, which the field says."""
    section = data.get("function")
    if isinstance(section, FunctionCall):
        return section.selector()
    name = section.get("name") if isinstance(section, dict) else None
    try:
        return FunctionCall(name=name).selector() if isinstance(name, str) else {}
    except ValueError:
        return {}
