"""What a rank of a suite runs: `python -s -B /infradev/reporter/runner.py`.

The options are one JSON document on standard input, because what is in the environment or in a
file can be read by the code under test, and the nonce of the reporter's channel is among them.

A runner can be started before anybody knows for what: its options are then `wait` and `modules`.
It imports what it can without the work tree and `modules`, says on the channel that it waits, and
reads the real options from the pipe `wait`, once.

Order matters here. pytest, pluggy and the reporter are imported while only the environment is on
the module path, so that a `pytest.py` or `json.py` in the work tree cannot stand in for them; the
work tree is put on the path after that.

Options:
  nonce       marks every line of the channel
  worktree    absolute; becomes the working directory and pytest's root
  pythonpath  absolute folders, put first on the module path
  paths       what pytest is given, relative to the work tree
  args        more arguments for pytest
  only        ids of the cases to run (null: all)
  files       the only files to collect, relative to the work tree (null: all)
  ignore      nodes (files, folders) not to collect
  step        a file that the ranks share, with their counters of cases begun (null: one rank)
  rank, ranks
  stack_s     seconds after which a case that still runs has its stack printed on stderr

  wait        a pipe from which the options above come
  modules     names of the environment's modules to import before
"""

import gc
import os
import sys


def read_options():
    """The whole of standard input, which is `/dev/null` from then on."""
    options = read_document(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return options


def read_document(fd):
    import json

    parts = []
    while True:
        part = os.read(fd, 1 << 16)
        if not part:
            break
        parts.append(part)
    return json.loads(b"".join(parts))


def await_order(channel, reporter, options):
    """The real options, once there are any. What is missing here is told when it is wanted."""
    import importlib

    try:
        reporter.load()
        for name in options["modules"]:
            importlib.import_module(name)
    except BaseException:
        pass
    os.write(channel, b"waiting\n")
    pipe = os.open(options["wait"], os.O_RDONLY)
    options = read_document(pipe)
    os.close(pipe)
    return options


def clean_environment():
    """Nothing of ours, and nothing that steers pytest, is left for the code under test."""
    steering = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "PYTEST_THEME")
    for name in list(os.environ):
        if name.startswith("INFRADEV_") or name in steering:
            del os.environ[name]


def main():
    gc.disable()  # until all is imported: what lives for good is not worth looking through
    channel = int(os.environ["INFRADEV_CHANNEL_FD"])
    os.set_inheritable(channel, False)
    options = read_options()
    clean_environment()
    here = os.path.dirname(os.path.abspath(__file__))
    if not any(os.path.abspath(entry) == here for entry in sys.path if entry):
        sys.path.insert(0, here)

    import infradev_reporter as reporter

    sys.path[:] = [entry for entry in sys.path if entry and os.path.abspath(entry) != here]
    if "wait" in options:
        options = await_order(channel, reporter, options)
    line = reporter.Channel(channel, options.pop("nonce"))
    try:
        session = reporter.prepare(line, options)
    except BaseException as error:  # whatever it is, the environment is not usable
        line.send("fault", m=reporter.text_of(error, 4096))
        os._exit(3)

    os.chdir(options["worktree"])
    sys.path[:0] = options["pythonpath"]
    # interpreters that tests start themselves find the project too, as beside a plain pytest
    inherited = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(options["pythonpath"] + ([inherited] if inherited else []))
    # nor is it later: pytest collects five times at its end, and tests of memory do all the time
    gc.freeze()
    gc.enable()
    code = session.run()
    # no interpreter shutdown: a crash or a wait in a finaliser says nothing about the cases
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(code)


if __name__ == "__main__":
    main()
