# SPDX-License-Identifier: GPL-2.0
"""An HTTP server on the loopback address that serves slowly: a download to interrupt."""

import threading
import time
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Iterator


class Handler(SimpleHTTPRequestHandler):
    """Serves whole files, or from `Range: bytes=N-` on, `server.rate` bytes a second."""

    def do_GET(self) -> None:
        data = Path(self.translate_path(self.path)).read_bytes()
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.server.starts.append(start)
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(data) - start))
        self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        step = max(1, self.server.rate // 20)
        try:
            for offset in range(start, len(data), step):
                self.wfile.write(data[offset:offset + step])
                time.sleep(0.05 if self.server.rate < 1 << 30 else 0)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve(directory: Path, rate: int) -> Iterator[ThreadingHTTPServer]:
    """Serve `directory` at `rate` bytes a second; `starts` lists the offset of each request."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=directory)) as server:
        server.daemon_threads = True
        server.rate, server.starts = rate, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
