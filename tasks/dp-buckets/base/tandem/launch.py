"""Start several ranks of one program on this machine.

    python -m tandem.launch -n 2 -m pytest -q tests
    python -m tandem.launch -n 4 train_script.py --epochs 3
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def launch(command: list[str], ranks: int, limit_s: float | None = None) -> int:
    """Run ``command`` in ``ranks`` processes; the first non-zero exit code, or 0."""
    env = {**os.environ, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    processes = [
        subprocess.Popen(command, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)
    ]
    deadline = None if limit_s is None else time.monotonic() + limit_s
    codes = []
    try:
        for process in processes:
            codes.append(process.wait(None if deadline is None else max(0.0, deadline - time.monotonic())))
    except subprocess.TimeoutExpired:
        codes.append(124)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    return next((code for code in codes if code), 0)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tandem.launch", description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--ranks", type=int, default=2)
    parser.add_argument("--limit", type=float, default=None, help="seconds after which all ranks are stopped")
    parser.add_argument("-m", dest="as_module", action="store_true", help="the program is a module")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(argv)
    run = ["-m", chosen.program] if chosen.as_module else [chosen.program]
    return launch([sys.executable, *run, *chosen.arguments], chosen.ranks, chosen.limit)


if __name__ == "__main__":
    sys.exit(main())
