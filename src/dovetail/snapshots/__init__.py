"""Snapshots: everything the engine needs to go on from one moment, as a file.

`document` is the format, `conversion` turns it into the records of a restart and back, `file` reads and writes it,
`redaction` leaves out what nobody else may read. No I/O: the caller opens files. Left to others:
where a snapshot comes from (`store`, `kubernetes`, the Slurm backend), and what is played with it (`simulate`).
"""
