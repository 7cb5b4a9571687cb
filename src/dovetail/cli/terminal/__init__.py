"""What commands share: options, the connection to the server, output formats, failures and exit codes.

Nothing here knows a noun of the API; tables and drawings are in `render`.
"""
