"""`testcase` in the shell of `infradev shell`: the case again, by plain pytest.

    testcase                 the case; where the suite has several ranks, all of them
    testcase --pdb [RANK]    that rank (0) has the terminal, and pdb where it fails
    testcase ID... [OPTION]  other cases, more options for pytest
    testcase --all           the whole suite

pytest is imported before the work tree is on the module path, with the plugins of the environment
and the project's options, as when the suite is graded. Nothing is reported anywhere.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# ranks that wait for one that has ended are given so long
PATIENCE = 10.0


def settings():
    with open(os.path.join(HERE, "settings.json"), encoding="utf-8") as file:
        return json.load(file)


def asked(words, options):
    """What is to run: targets, options for pytest, the rank that has the terminal."""
    targets, extra, rank = [], [], None
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--all":
            targets = list(options["paths"])
        elif word == "--pdb":
            rank = int(words.pop(0)) if words and words[0].isdigit() else 0
        elif "::" in word and not word.startswith("-"):
            targets.append(word)
        else:
            extra.append(word)
    if rank is not None and not 0 <= rank < options["ranks"]:
        sys.exit("testcase: there is no rank %d, the suite has %d" % (rank, options["ranks"]))
    targets = targets or options["targets"]
    # a path may look like an option
    return [t if not t.startswith("-") else "./" + t for t in targets], extra, rank


def pytest_here(options, words):
    """One rank, in this process."""
    import importlib.metadata

    sys.path.insert(0, options["reporter"])
    import runner
    import infradev_reporter as reporter  # and what probes import of it
    import _pytest.config
    import pytest

    runner.clean_environment()
    os.environ["PATH"] = options["path"]
    own = (HERE, options["reporter"])
    sys.path[:] = [entry for entry in sys.path if entry and os.path.abspath(entry) not in own]
    seen = importlib.metadata.entry_points()
    entries = seen.select(group="pytest11") if hasattr(seen, "select") else seen.get("pytest11", ())
    plugins = list({entry.name: entry for entry in reversed(list(entries))}.values())
    plugins = [entry.load() for entry in reversed(plugins)]
    original = _pytest.config.Config.getini

    def getini(self, name):
        value = original(self, name)
        return reporter.keep_options(value)[0] if name == "addopts" else value

    _pytest.config.Config.getini = getini
    os.chdir(options["worktree"])
    sys.path[:0] = options["pythonpath"]
    inherited = os.environ.get("PYTHONPATH")
    paths = options["pythonpath"] + ([inherited] if inherited else [])
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.argv[:] = ["pytest"] + words
    sys.exit(int(pytest.main(words, plugins=plugins)))


def free_port():
    """A new one each time: connections of the last one may linger."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def copy(stream, log, mark):
    """Lines of a rank, to the terminal and to its file."""
    for line in iter(stream.readline, b""):
        log.write(line)
        log.flush()
        # one write each: lines of several ranks never mix
        os.write(1, mark + line if line.endswith(b"\n") else mark + line + b"\n")


def all_ranks(options, words, terminal):
    """Starts every rank; `terminal`: the one that has ours, or None. The worst exit code."""
    import signal
    import subprocess
    import tempfile
    import threading
    import time

    folder = tempfile.mkdtemp(prefix="ranks-", dir="/tmp")
    port = free_port()
    running, copies, logs = [], [], {}
    for rank in range(options["ranks"]):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), MASTER_PORT=str(port))
        own = words + ["--pdb"] if rank == terminal else words
        line = [sys.executable, "-s", "-B", os.path.abspath(__file__), "--as-rank"] + own
        if rank == terminal:
            running.append(subprocess.Popen(line, env=env))
            continue
        logs[rank] = os.path.join(folder, "rank-%d.log" % rank)
        log = open(logs[rank], "wb")
        if terminal is None:
            child = subprocess.Popen(
                line, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            copies.append(threading.Thread(target=copy, args=(child.stdout, log, b"[%d] " % rank), daemon=True))
            copies[-1].start()
        else:
            # an interrupt is for the rank that has the terminal
            child = subprocess.Popen(
                line, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        running.append(child)
    if terminal is not None:
        for rank, path in sorted(logs.items()):
            print("rank %d writes to %s" % (rank, path), flush=True)
    # the ranks themselves are interrupted
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    until = None
    while any(child.poll() is None for child in running):
        over = running[terminal].poll() is not None if terminal is not None else any(c.poll() for c in running)
        if over and until is None:
            until = time.monotonic() + PATIENCE
        if until is not None and time.monotonic() > until:
            late = [rank for rank, child in enumerate(running) if child.poll() is None]
            for rank in late:
                running[rank].kill()
            print("testcase: ranks %s were ended: they waited" % ", ".join(map(str, late)), flush=True)
            for rank in late:
                running[rank].wait()
            break
        time.sleep(0.02)
    for thread in copies:
        thread.join(PATIENCE)
    codes = [child.returncode for child in running]
    if terminal is None:
        print("exit codes of the ranks: %s; their output: %s" % (", ".join(map(str, codes)), folder), flush=True)
    worst = [code for code in codes if code]
    return (worst[0] if worst[0] > 0 else 128 - worst[0]) if worst else 0


def main():
    options = settings()
    words = sys.argv[1:]
    if words[:1] == ["--as-rank"]:
        pytest_here(options, words[1:])
    if words[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return
    targets, extra, rank = asked(words, options)
    words = options["options"] + extra + targets
    if options["ranks"] > 1:
        sys.exit(all_ranks(options, words, rank))
    pytest_here(options, words + ["--pdb"] if rank is not None else words)


if __name__ == "__main__":
    main()
