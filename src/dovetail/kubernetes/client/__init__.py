"""Speaking to a Kubernetes API server: who we are there, requests, lists, watches, and what is built from those.

`access` finds the server and the credentials, `api` sends requests, `reflector` follows a collection, `pods` binds,
deletes and evicts, `recorder` writes Events, `election` holds a Lease, `applying` applies manifests. Objects are plain
dicts as the API has them: what they mean is left to others. Proxies need the extra `kubernetes` (aiohttp).
"""
