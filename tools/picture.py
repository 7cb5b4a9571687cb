"""Draw what a command prints as an SVG, for the README:  python tools/picture.py OUT.svg TITLE COMMAND…

Runs the command on a pseudo-terminal of 80 columns, so that it draws as it does for a person.
"""

import os
import pty
import re
import sys

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

WIDTH = 80


def printed(command: list[str]) -> str:
    """Everything the command writes to its terminal."""
    chunks: list[bytes] = []

    def read(fd: int) -> bytes:
        data = os.read(fd, 65536)
        chunks.append(data)
        return b""

    os.environ.update(COLUMNS=str(WIDTH), TERM="xterm-256color")
    pty.spawn(command, read)
    return b"".join(chunks).decode().replace("\r\n", "\n")


def main() -> None:
    out, title, *command = sys.argv[1:]
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115, PTH123
    console.print(Text.from_ansi(f"$ {title}\n" + printed(command)))
    without_web_fonts = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    console.save_svg(out, title="dovetail", code_format=without_web_fonts)


if __name__ == "__main__":
    main()
