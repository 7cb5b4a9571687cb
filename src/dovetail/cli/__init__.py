"""The `dovetail` command: its commands, in one package or module a noun, as in `api` and `client`.

`command_table` names all commands and `main` is the entry. `terminal` has what commands share, `render` draws what they
print. A command talks to the server through `dovetail.client`; only those in `program`, `simulate` and `kubernetes` run
something in this process.

Guarantees: `dovetail --help` imports no command, no HTTP library and no rendering. No other package imports this one.
"""
