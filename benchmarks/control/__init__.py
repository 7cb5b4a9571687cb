"""The control plane as its users meet it: a real server process, HTTP, SQLite on disk."""
