"""The project package and the face: settings, addresses, pages, API, socket, commands."""

import sys

# Two libraries load others wherever they find them: Twisted its TLS, which the proxy in front does
# for us, httpx its own command line. Some 10 MB that nobody uses.
for unused in ("OpenSSL", "httpx._main"):
    sys.modules.setdefault(unused, None)  # type: ignore[arg-type]
