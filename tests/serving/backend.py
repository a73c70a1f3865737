"""A backend in a process of its own, to be killed: `python -m tests.serving.backend PAUSE` prints its port."""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORDS = "I am so sorry. He was a good dog. What do you miss most about him?".split(" ")


class Handler(BaseHTTPRequestHandler):
    pause = 0.0

    def do_GET(self) -> None:
        self._whole({"data": [{"id": "big-model"}]})

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not request.get("stream"):
            time.sleep(self.pause)
            self._whole({"choices": [{"message": {"content": " ".join(WORDS)}}]})
            return
        self.send_response(200)
        self.end_headers()
        for word in WORDS:
            self._event({"choices": [{"delta": {"content": f"{word} "}}]})
            time.sleep(self.pause)
        self._event({"choices": [{"delta": {}, "finish_reason": "stop"}]})

    def _event(self, event: Any) -> None:
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def _whole(self, answer: Any) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


if __name__ == "__main__":
    Handler.pause = float(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
