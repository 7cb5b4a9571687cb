"""A client of the Kubernetes API: credentials, requests, lists, watches, and what is built from those.

`access` finds the server and the credentials, `api` sends requests, `reflector` follows a collection, `pods` binds
and deletes, `recorder` writes Events, `election` holds a Lease. `quantity` and `pod_requests` read amounts. What
objects mean to the engine is read in `dovetail.kubernetes`, and `dovetail.backends.kubernetes` runs tasks as pods; both
use this client, and it imports neither.
"""
