"""A client of a service on a host of the fabric: asks DNS for an endpoint, sends a request there, again and again.

Run as `python hammer.py DNS_PORT NAME`, it goes on until its input ends. It prints what went wrong with requests, and
at last how many succeeded.
"""

import http.client
import select
import sys

import dns.resolver


def main(port: int, name: str) -> None:
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port, resolver.cache = ["127.0.0.1"], port, None
    resolver.timeout = resolver.lifetime = 30.0
    succeeded = 0
    print("began", flush=True)
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        where = "?"
        try:
            answer = resolver.resolve(f"_http._tcp.{name}", "SRV")
            first = answer[0]
            [address] = [str(rows[0]) for rows in answer.response.additional if rows.name == first.target]
            where = f"{address}:{first.port}"
            connection = http.client.HTTPConnection(address, first.port, timeout=30)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            connection.close()
            succeeded += 1
        except Exception as error:
            print(f"{where}: {type(error).__name__}: {error}", flush=True)
    print(f"succeeded {succeeded}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
