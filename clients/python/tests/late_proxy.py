"""A proxy that passes on the clients' bytes at once, and delays or drops the server's bytes."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class LateProxy:
    """Starts when it is made, and runs on its own thread."""

    def __init__(self, server: str, answers_after: float = 0.0) -> None:
        self._host, port = server.rsplit(":", 1)
        self._port = int(port)
        self._answers_after = answers_after
        self._loop = asyncio.new_event_loop()
        self.loses_answers = False
        """Whether it drops the server's bytes, on existing and new connections, for ever."""
        self._streams: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self.address = ""
        started = threading.Event()

        async def start() -> None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
            self.address = "127.0.0.1:" + str(self._server.sockets[0].getsockname()[1])
            started.set()

        def run() -> None:
            self._loop.run_until_complete(start())
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        started.wait()

    def __enter__(self) -> LateProxy:
        return self

    def __exit__(self, *_: object) -> None:
        """Cut all connections."""

        async def stop() -> None:
            self._server.close()
            for stream in self._streams:
                stream.close()
            for task in list(self._serving):
                task.cancel()
            await asyncio.gather(*self._serving, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        far, to_far = await asyncio.open_connection(self._host, self._port)
        for stream in (to_near, to_far):
            self._streams.add(stream)
        for reader, writer, is_answer in ((near, to_far, False), (far, to_near, True)):
            task = asyncio.ensure_future(self._pass_on(reader, writer, is_answer))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool
    ) -> None:
        late = self._answers_after if is_answer else 0.0
        is_lost = False
        with contextlib.suppress(ConnectionError):
            while said := await reader.read(65_536):
                is_lost = is_lost or (is_answer and self.loses_answers)
                if not is_lost:
                    self._loop.call_later(late, writer.write, said)
        self._loop.call_later(late, writer.close)
