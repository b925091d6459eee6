"""A model server that costs next to nothing: `python -m tests.benchmarks.model` prints its URL.

Each answer is 20 tokens in 20 pieces. It notes when each request was there and when its first
token left, by the text of the last user message: `GET /log` gives {text: [asked, answered]} in
seconds of the monotonic clock, which all processes of a machine share, and forgets them.
"""

import asyncio
import json
import sys
import time

TOKENS = 20


def piece(delta, **more):
    return json.dumps({"id": "bench", "choices": [{"index": 0, "delta": delta, **more}]})


def sse(*documents):
    return "".join(f"data: {document}\n\n" for document in documents).encode()


WORDS = [sse(piece({"content": f"word{number} "})) for number in range(TOKENS)]
END = sse(
    piece({}, finish_reason="stop"),
    json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": TOKENS}}),
    "[DONE]",
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


CHUNKS = [chunk(word) for word in WORDS]
TAIL = chunk(END) + b"0\r\n\r\n"


class Model:
    def __init__(self, pause, count):
        self.pause, self.count = pause, count
        self.log = {}

    async def serve(self, reader, writer):
        try:
            while True:
                await self.answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def answer(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            (
                int(line[15:])
                for line in head.splitlines()
                if line.lower()[:15] == "content-length:"
            ),
            0,
        )
        body = await reader.readexactly(length)
        asked = time.monotonic()
        if head.startswith("GET"):
            return self.tell(writer)
        messages = json.loads(body)["messages"]
        said = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        writer.write(HEAD)
        self.log[said] = [asked, time.monotonic()]
        for number in range(self.count):
            writer.write(CHUNKS[number % TOKENS])
            if self.pause:
                await asyncio.sleep(self.pause)
        writer.write(TAIL)
        await writer.drain()
        return None

    def tell(self, writer):
        body = json.dumps(self.log).encode()
        self.log = {}
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )


async def main(pause=0.0, count=TOKENS):
    server = await asyncio.start_server(Model(pause, count).serve, "127.0.0.1", 0, limit=2**22)
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"http://127.0.0.1:{port}/v1\n")
    sys.stdout.flush()
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*(kind(word) for kind, word in zip((float, int), sys.argv[1:], strict=False))))
