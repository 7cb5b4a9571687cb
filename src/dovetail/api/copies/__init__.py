"""Questions that are answered on a copy of the live state, in another process: snapshots, what-if, profile previews.

The server writes down what it learned, and a worker reads the rest from the database. No decision waits for any of it.
"""
