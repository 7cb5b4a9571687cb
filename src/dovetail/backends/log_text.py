"""Output read in pieces: where a piece may end."""


def whole_characters(content: bytes) -> bytes:
    """Without the beginning of a UTF-8 character at the end, whose rest comes with the next chunk."""
    for back in range(1, min(4, len(content)) + 1):
        byte = content[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4 if byte < 0xF8 else 1  # 1: no character begins so
            return content[:-back] if length > back and len(content) > back else content
    return content
