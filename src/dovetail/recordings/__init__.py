"""Recordings: everything the engine heard, in order, so that a day can be decided again.

`event_lines` writes events as JSON and reads them, `segment` is the file format. The control plane writes segments
(`control.services.recording`), `replaying` plays them. Nothing here touches files.
"""
