"""The lines of a CSV table."""

import csv
import io
from collections.abc import Iterator

from dovetail.model.text.complaint import Complaint


def csv_lines(text: str, source: str, complaints: list[Complaint]) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not empty: the number and the cells. At a line that is not CSV they end, with a complaint."""
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for cells in reader:
            values = [cell.strip() for cell in cells]
            if any(values):
                yield reader.line_num, values
    except csv.Error as error:
        complaints.append(Complaint(source, reader.line_num, "", f"is not CSV: {error}"))
