"""Daphne with a worker on its loop, and an end that never takes long.

Daphne sends no lifespan events, so the worker is started by its ready callable, and ended where
Daphne ends what it serves.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable

import daphne.server
from django.conf import settings
from django.utils.module_loading import import_string
from twisted.internet import defer, reactor

from agents import events
from agents.errors import Conflict
from agents.queue.worker import Worker
from agents.tools.integrations import mcp
from console.serving.limits import LimitedFactory, LimitedSocket

log = logging.getLogger(__name__)

# Seconds. Ctrl-C has to end everything within 2.
DRAIN = 1.6

GOES_AWAY, RESTARTS = 1001, 1012  # why a socket is closed


class Server(daphne.server.Server):  # type: ignore[misc]
    """One listening socket, and at most one worker."""

    def __init__(
        self, listener: socket.socket, worker: Worker | None, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(
            import_string(settings.ASGI_APPLICATION),
            endpoints=["replaced by `start`"],
            ready_callable=self.start,
            verbosity=0,
            websocket_max_message_size=0,  # of both ways; LimitedSocket limits the one
            websocket_max_frame_size=0,
            request_buffer_size=1024 * 1024,  # an upload in twenty pieces, not 2,500
            # A request whose client has left lasts until its view has ended: it may read its body.
            application_close_timeout=600,
        )
        # Twisted's endpoint strings know no socket that is already bound to an IPv6 address.
        self.endpoints.clear()
        self.listener, self.worker, self.on_ready = listener, worker, on_ready
        self.is_broken = False

    def start(self) -> None:
        """Serve the socket and start the worker; runs just before the reactor does."""
        self.listener.setblocking(False)
        self.ws_factory.protocol = LimitedSocket
        self.http_factory = LimitedFactory(self)
        self.port = reactor.adoptStreamPort(
            self.listener.fileno(), self.listener.family, self.http_factory
        )
        if self.worker:
            self.working = event_loop().create_task(self.worker.run())
            self.working.add_done_callback(self.worker_ended)
        reactor.callWhenRunning(self.on_ready)

    def kill_all_applications(self) -> defer.Deferred[object]:
        """Twisted waits for this before it stops the loop; Daphne's own could wait for ever."""
        return defer.Deferred.fromFuture(event_loop().create_task(self.end_all()))

    async def end_all(self) -> None:
        """Let the worker put its turns back into the queue; end every request and MCP server.

        Open pages are told first, and none of them comes back to a process that ends.
        """
        self.port.stopListening()
        # Nobody presses Ctrl-C to start again.
        code = GOES_AWAY if reactor._exitSignal == signal.SIGINT else RESTARTS
        for connection in list(self.connections):
            if isinstance(connection, LimitedSocket):
                connection.say_goodbye(code)
        applications = (each.get("application_instance") for each in self.connections.values())
        ending = [each for each in applications if each is not None and not each.done()]
        for request in ending:
            request.cancel()
        if self.worker:
            ending += [asyncio.ensure_future(self.worker.stop()), self.working]
        ending.append(asyncio.ensure_future(mcp.aclose_all()))
        await asyncio.wait(ending, timeout=DRAIN)
        await events.wait_until_sent(0.2)

    def worker_ended(self, task: asyncio.Task[None]) -> None:
        """A worker that broke takes the server down: a page that can do nothing helps nobody."""
        if not task.cancelled() and (error := task.exception()):
            log.critical("the worker broke", exc_info=error)
            self.is_broken = True
            reactor.callFromThread(self.stop)


def event_loop() -> asyncio.AbstractEventLoop:
    """The loop under Twisted's reactor; a private name, so tests start the real server."""
    loop = reactor._asyncioEventloop
    assert isinstance(loop, asyncio.AbstractEventLoop)
    return loop


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, bound before anything else starts so that a refusal is one sentence."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except PermissionError:
        raise Conflict(
            f"Port {port} may not be used by you: set PLANSIDE_PORT above 1023."
        ) from None
    except socket.gaierror:
        raise Conflict(f"PLANSIDE_HOST {host!r} is not an address of this machine.") from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Conflict(
                f"Port {port} on {host} is in use: "
                "stop what uses it, or set PLANSIDE_PORT to another."
            ) from None
        raise Conflict(f"Planside cannot listen on {host} port {port}: {error.strerror}.") from None
    return listener


def address_of(listener: socket.socket) -> str:
    """`http://127.0.0.1:8000`: where a browser finds this socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
