"""The methods of `Client`, one module a noun, as the routes stand in `api`.

Here belong calls that the server answers at once. What goes on for a while, such as output, events and waiting, belongs
to `following`; how a call is sent, to `transport`.
"""
