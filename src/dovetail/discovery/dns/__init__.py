"""A DNS server for the names of services. `answers` is free of I/O, `server` has the sockets, `program` runs it all."""
