"""What commands that follow something say when the server goes away."""

from dovetail.cli.terminal.output import say
from dovetail.client.following.reconnecting import RECONNECT_S


def say_trouble(error: str) -> None:
    say(f"{error}; trying again for {RECONNECT_S:.0f} s")
