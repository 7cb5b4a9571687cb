"""What all routes share: reading request bodies, writing answers and problem documents, describing both in OpenAPI.

Nothing here knows a noun of the API. A route belongs into the package of its noun beside this one.
"""
