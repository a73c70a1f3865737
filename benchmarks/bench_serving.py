"""Concurrent streams against `heartfelt serve` in another process: words a second as a ratio to one stream, time to the
first words, errors below the line's limit and refusals above it, and the server's memory.

    python benchmarks/bench_serving.py                       # 1, 8 and 32 streams, 60 s in all
    python benchmarks/bench_serving.py --streams 8 --seconds 1800          # a soak: is memory flat?

Only on loopback; bounded by --seconds. Needs the base weights, [chat] and [serve]. A machine that does something else
meanwhile gives other figures: say so where you note them.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from bench_reply import MESSAGES


class Tally:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.words, self.done, self.refused = 0, 0, 0
        self.errors: list[str] = []
        self.first: list[float] = []


def stream(address: str, message: str, tally: Tally) -> None:
    body = {"messages": [{"role": "user", "content": message}], "stream": True, "max_tokens": 40}
    asked = urllib.request.Request(
        f"{address}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    started = time.perf_counter()
    words, first, ended = 0, None, False
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            for line in answer:
                data = line.decode().removeprefix("data: ").strip()
                ended = ended or data == "[DONE]"
                for choice in json.loads(data).get("choices", ()) if data.startswith("{") else ():
                    if piece := choice["delta"].get("content"):
                        first = first or time.perf_counter() - started
                        words += len(piece.split())
        problem = "" if ended else "no [DONE]"
    except urllib.error.HTTPError as refused:
        problem = str(refused.code)
        if refused.code == 429 and refused.headers["Retry-After"]:
            with tally.lock:
                tally.refused += 1
            time.sleep(0.2)
            return
    except OSError as broken:
        problem = type(broken).__name__
    with tally.lock:
        if problem:
            tally.errors.append(problem)
        else:
            tally.done += 1
            tally.words += words
            tally.first.append(first or 0.0)


def measure(address: str, streams: int, seconds: float) -> dict[str, Any]:
    tally = Tally()
    ends = time.monotonic() + seconds

    def work(number: int) -> None:
        while time.monotonic() < ends:
            stream(address, MESSAGES[number % len(MESSAGES)], tally)
            number += 1

    started = time.perf_counter()
    threads = [threading.Thread(target=work, args=(i,)) for i in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - started
    quantiles = statistics.quantiles(tally.first, n=20) if len(tally.first) > 1 else [0.0] * 19
    return {
        "replies": tally.done, "words": tally.words / took, "p50": quantiles[9], "p95": quantiles[18],
        "refused": tally.refused, "errors": tally.errors,
    }  # fmt: skip


def memory(pid: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", default="1,8,32")
    parser.add_argument("--seconds", type=float, default=60.0, help="for all of them together")
    parser.add_argument("--slots", default="8")
    parser.add_argument("--waiting", default="32")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--backend", action="append", default=[], help="URLs; else the shipped model")
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "heartfelt", "serve", "--port", "0", "--slots", chosen.slots]
    command += ["--waiting", chosen.waiting, "--threads", chosen.threads]
    for i, url in enumerate(chosen.backend):
        command += ["--another-backend" if i else "--backend", url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            line = next(line for line in server.stderr if "listens on" in line)
            address = line.split()[-1]
            threading.Thread(target=server.stderr.read, daemon=True).start()
            stream(address, MESSAGES[0], Tally())  # loads what is loaded on use
            counts = [int(one) for one in chosen.streams.split(",")]
            base = None
            print(f"{'streams':>8}{'replies':>9}{'words/s':>9}{'ratio':>7}{'p50 first':>11}{'p95 first':>11}"
                  f"{'429':>6}{'errors':>8}{'MB':>7}")  # fmt: skip
            for count in counts:
                found = measure(address, count, chosen.seconds / len(counts))
                base = base or found["words"]
                ratio = found["words"] / base if base else 0.0
                print(f"{count:>8}{found['replies']:>9}{found['words']:>9.1f}{ratio:>7.2f}{found['p50']:>9.2f} s"
                      f"{found['p95']:>9.2f} s{found['refused']:>6}{len(found['errors']):>8}{memory(server.pid):>7.0f}"
                      f"  {' '.join(sorted(set(found['errors'])))}", flush=True)  # fmt: skip
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
