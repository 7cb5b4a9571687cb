"""From a method, a path and a body to an answer: addresses, credentials, connections, HTTP, retries.

Nothing here knows what a route means; that belongs to `calls`.
"""
