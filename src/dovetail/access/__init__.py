"""Who may speak to a server, and how its clients know: tokens, the files they lie in, certificates, known servers.

Server and clients share it. Which request needs which right is left to `api`, keeping tokens of nodes to `control`.
"""
