"""How the schema came to be, one step a file in `versions/`; `migrating` runs them at start.

To change the schema: change `schema.py`, add a file to `versions/` named for what it does, with the next revision
number and the one before as `down_revision`. A released step never changes. There is no way down: an older version
refuses a newer database, and a backup is the way back.
"""
