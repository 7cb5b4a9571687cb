"""The serial log of a machine, from the storage to which its boot diagnostics write."""

import ssl

import httpx

ANSWER_WITHIN_S = 60.0
NOT_THERE_YET = 404


async def serial_log(address: str, ca: str | None) -> str:
    """`address`: with a signature in it, so nothing else is shown to the storage, and the address to nobody else."""
    verify = True if ca is None else ssl.create_default_context(cafile=ca)
    async with httpx.AsyncClient(timeout=ANSWER_WITHIN_S, verify=verify) as client:
        answer = await client.get(address)
    if answer.status_code == NOT_THERE_YET:
        return ""
    if answer.is_error:
        raise ConnectionError(f"the storage of the serial log answered {answer.status_code}")
    return answer.content.decode("utf-8", "replace")
