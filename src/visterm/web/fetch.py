"""Picture files from elsewhere, for whoever names a URL instead of sending bytes.

The server asks from its own place in the network, where it may reach what its callers must not: so
every address that a name stands for must be public, the connection is made to the very address
that was checked, and redirects are not followed.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from urllib.parse import urlsplit

from visterm.errors import BadInput

_PATIENCE = 10.0
"""Seconds for a connection, and for each piece of an answer."""
_LONGEST = 30.0
"""Seconds for a whole file."""
_PIECE = 1 << 16


def fetch(url: str, largest: int) -> bytes:
    """The file at a public http or https address, of at most so many bytes.

    >>> fetch("http://127.0.0.1/picture.jpg", 1000)
    Traceback (most recent call last):
    visterm.errors.BadInput: 127.0.0.1 is not a public address
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadInput("url cannot be read") from None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise BadInput("url must be an http or https address, without a user's name")
    connection = _connection(parts.scheme, host, port)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("GET", target, headers={"User-Agent": "visterm", "Accept": "image/*"})
        return _read(connection.getresponse(), host, largest)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(f"{host} did not send the file: {error}") from None
    finally:
        connection.close()


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    """A connection to the address that was checked; a name could stand for another by then."""
    port = port or {"http": 80, "https": 443}[scheme]
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadInput(f"{host} is not known here") from None
    addresses = [str(where[0]) for *_, where in found]
    for address in addresses:
        if not ipaddress.ip_address(address.partition("%")[0]).is_global:
            raise BadInput(f"{host} is not a public address")
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    try:
        opened = socket.create_connection((addresses[0], port), _PATIENCE)
        if scheme == "https":
            opened = ssl.create_default_context().wrap_socket(opened, server_hostname=host)
    except OSError as error:
        raise BadInput(f"{host} cannot be reached: {error}") from None
    connection.sock = opened
    return connection


def _read(answer: http.client.HTTPResponse, host: str, largest: int) -> bytes:
    if answer.status != 200:
        raise BadInput(f"{host} answered {answer.status}; a file is taken from its own address")
    until, pieces, size = time.monotonic() + _LONGEST, [], 0
    while piece := answer.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > largest:
            raise BadInput(f"the file has more than {largest:,} bytes")
        if time.monotonic() > until:
            raise BadInput(f"the file took more than {_LONGEST:.0f} seconds")
    return b"".join(pieces)
