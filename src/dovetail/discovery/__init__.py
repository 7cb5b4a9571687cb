"""Discovery: where the ready replicas of services are reached, over HTTP and DNS.

Pure: `endpoint`, `change_table`, `mirror`, `ordering`, `zone`, and the answers of `dns`. With I/O: `follower`, which
keeps a copy of the endpoints up to date, and the sockets of `dns`, which answers from that copy. The server's own table
is `control.services.discovery`. Who asks the server is left to others: a follower is given functions that ask.
"""
