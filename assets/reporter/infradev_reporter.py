"""A pytest plugin that tells the worker, line by line, what happens to each case.

Every line of the channel is one JSON object in ASCII: `n` the nonce, `i` its number, `k` its kind.
  hello       versions, plugins of the environment, options of the project that were set aside
  fault       pytest could not be imported
  collecting  a file or folder whose collection begins (`node`)
  node        ... and ended: `o` passed, failed or skipped; `m`, `t`, `f` say why
  cases       a part of the list of cases, in order: [id, function, class]
  collected   the list is complete: `count`, and how many of them are to run: `selected`
  start       a case begins: `c`, its place in the list
  report      a phase ended: `c`, `p` phase, `o` outcome, `d` seconds; `m` message, `t` traceback,
              `f` frames, `s` captured sections, `x` the reason of an expected failure
  finish      the case is over on this rank
  broken      a case was left by an exception that ends the session
  deviation   something that decides outcomes is not what it was at the start (infradev_watch.py)
  interrupt   pytest.exit or an interrupt, with its words
  internal    pytest itself failed
  end         pytest returned: `code`, `failed` and `reported` as pytest counts them

Objects of the code under test end up here (exceptions, reprs): nothing of them is trusted to work.
"""

import builtins

# functions keep the built-in names that they were made with: these are ours alone
__builtins__ = dict(vars(builtins))

import faulthandler  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import infradev_compare  # noqa: E402
import infradev_places  # noqa: E402
import infradev_probe  # noqa: E402  (for the probes, which find it loaded)
import infradev_watch  # noqa: E402

TEXT = 64 * 1024
MESSAGE = 4096
FRAMES = 64
LIST_PART = 500


def encoder():
    """JSON in ASCII, by the part that is written in C: projects replace methods of the other."""
    whole = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))
    make, text = json.encoder.c_make_encoder, json.encoder.c_encode_basestring_ascii
    if make is None or text is None:
        return whole.encode
    parts = make(None, whole.default, text, None, ":", ",", False, False, True)
    join = "".join
    return lambda record: join(parts(record, 0))


class Channel:
    """The way out: one write for each line, so that lines of several writers never mix."""

    def __init__(self, fd, nonce):
        state = {"fd": fd, "next": 0}
        encode = encoder()
        write = os.write

        def send(kind, **fields):
            fd = state["fd"]
            if fd is None:
                return
            number = state["next"]
            state["next"] = number + 1
            record = {"n": nonce, "i": number, "k": kind}
            record.update(fields)
            # the newline in front ends whatever somebody else left unfinished in the pipe
            data = ("\n" + encode(record) + "\n").encode("ascii")
            while data:
                data = data[write(fd, data):]

        def close():
            if state["fd"] is not None:
                os.close(state["fd"])
                state["fd"] = None

        self.send = send
        self.close = close
        self.alive = lambda: state["fd"] is not None


def cut(text, limit):
    """At most `limit` characters: the head and the tail, with what is missing said."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n[... %d characters cut ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def clean(text):
    """Lone surrogates have no place in JSON: they become escapes."""
    try:
        text.encode("utf-8")
        return text
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def text_of(thing, limit=TEXT):
    """The text of anything, also of what cannot say what it is."""
    try:
        text = thing if type(thing) is str else str(thing)
        text = str.__str__(text)
    except BaseException as error:
        text = "<%s without a text: str() raised %s>" % (type(thing).__name__, type(error).__name__)
    return clean(cut(text, limit))


def message_of(longrepr):
    """The words of the failure, as short as they come."""
    crash = getattr(longrepr, "reprcrash", None)
    message = getattr(crash, "message", None)
    if message is not None:
        return text_of(message, MESSAGE)
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return text_of(longrepr[2], MESSAGE)
    text = text_of(longrepr)
    last = ""
    for line in text.splitlines():
        if line.startswith("E  "):
            return cut(line[1:].strip(), MESSAGE)
        last = line.strip() or last
    return cut(last, MESSAGE)


def frames_of(excinfo, worktree):
    """[path, line, function] from the outermost frame of interest inwards."""
    frames = []
    try:
        value = excinfo.value
        cause = value.__cause__ if type(value).__name__ == "CollectError" else None
        trace = excinfo.tb if cause is None else cause.__traceback__
        steps = 0
        while trace is not None and steps < 4096:
            code = trace.tb_frame.f_code
            frames.append([str(code.co_filename), int(trace.tb_lineno or 0), str(code.co_name)])
            trace = trace.tb_next
            steps += 1
    except Exception:
        return []
    ours = ("/_pytest/", "/pluggy/", "/importlib/__init__.py")
    first = next(
        (at for at, frame in enumerate(frames)
         if not any(part in frame[0] for part in ours)
         and not frame[0].startswith("<frozen importlib")),
        0,
    )
    frames = frames[first:]
    if len(frames) > FRAMES:
        frames = frames[: FRAMES // 2] + frames[-FRAMES // 2:]
    prefix = worktree.rstrip("/") + "/"
    for frame in frames:
        if frame[0].startswith(prefix):
            frame[0] = frame[0][len(prefix):]
        frame[0] = clean(cut(frame[0], 1024))
        frame[2] = clean(cut(frame[2], 256))
    return frames


def trim_capture(config):
    """Shrink what a case printed to a head and a tail *before* pytest reads it all into memory."""
    try:
        manager = config.pluginmanager.getplugin("capturemanager")
        capture = manager._global_capturing
        for side in (capture.out, capture.err):
            handle = getattr(side, "tmpfile", None)
            if handle is None:
                continue
            handle.flush()
            fd = handle.fileno()
            size = os.fstat(fd).st_size
            if size <= 4 * TEXT:
                continue
            head = os.pread(fd, TEXT, 0)
            tail = os.pread(fd, TEXT, size - TEXT)
            os.ftruncate(fd, 0)
            said = "\n[... %d bytes cut ...]\n" % (size - 2 * TEXT)
            data = head + said.encode("ascii") + tail
            os.lseek(fd, 0, os.SEEK_SET)
            while data:
                data = data[os.write(fd, data):]
    except Exception:
        pass  # another kind of capture: pytest reads it as it is


class Step:
    """Ranks begin each case together: without that, a rank that left a case early would answer the
    others' collective with the one of its next case, and the wrong case would fail.

    The ranks share a file of counters, one each, of the cases begun."""

    def __init__(self, path, rank, ranks):
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        pread, pwrite, sleep = os.pread, os.pwrite, time.sleep
        size = 8 * ranks
        begun = [0]

        def write(count):
            pwrite(fd, count.to_bytes(8, "little"), 8 * rank)

        def others():
            data = pread(fd, size, 0).ljust(size, b"\0")
            return [int.from_bytes(data[at:at + 8], "little") for at in range(0, size, 8)]

        def line_up():
            begun[0] += 1
            write(begun[0])
            pause = 0.0002
            # the worker ends the group where one of them never comes
            while min(others()) < begun[0]:
                sleep(pause)
                pause = min(2 * pause, 0.005)

        self.line_up = line_up
        self.leave = lambda: write(1 << 62)


# Options of the project's own configuration that would take the run out of our hands: other
# processes, an early end, other outputs. With a value in the same or in the next word:
VALUE = (
    "-n", "--numprocesses", "--dist", "--tx", "--rsyncdir", "--maxprocesses", "--max-worker-restart",
    "--maxfail", "--reruns", "--reruns-delay", "--junitxml", "--junit-xml", "--junit-prefix",
    "--junitprefix", "--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--timeout",
    "--timeout-method", "--rootdir", "--basetemp", "--html", "--css", "--color", "--tb", "--durations",
    "--durations-min", "--log-file", "--lfnf", "--last-failed-no-failures", "--show-capture",
    "--report-log", "--json-report-file", "--splits", "--group", "--shard-id", "--num-shards",
)
# ... and without one:
FLAG = (
    "-x", "--exitfirst", "--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first",
    "--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--pdb", "--trace", "--co",
    "--collect-only", "--collectonly", "--setup-only", "--setuponly", "--setup-plan", "--setupplan",
    "-h", "--help", "-V", "--version", "--fixtures", "--funcargs", "--markers", "--cache-clear",
    "--cov-append", "--cov-branch", "--no-cov", "--no-cov-on-fail", "--self-contained-html",
    "--forked", "--boxed", "-f", "--looponfail", "--json-report", "--cache-show",
)
# these take a value only after `=`
MAYBE = ("--cov", "--cache-show")


def keep_options(words):
    """The project's options that stay, and those that are set aside."""
    kept, aside = [], []
    words = [str(word) for word in words]
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        following = words[at] if at < len(words) else None
        name = word.split("=", 1)[0]
        if word == "-p" and following is not None:
            at += 1
            (aside if following.startswith("no:") else kept).extend([word, following])
        elif word.startswith("-pno:"):
            aside.append(word)
        elif name in FLAG:
            aside.append(word)
        elif name in VALUE:
            aside.append(word)
            takes = "=" not in word and name not in MAYBE
            if takes and following is not None and not following.startswith("-"):
                aside.append(following)
                at += 1
        elif word.startswith("-n") and not word.startswith("--"):
            aside.append(word)
        elif len(word) > 2 and word[0] == "-" and set(word[1:]) <= set("xvqsl") and "x" in word:
            aside.append(word)
            rest = word.replace("x", "")
            if len(rest) > 1:
                kept.append(rest)
        else:
            kept.append(word)
    return kept, aside


def load():
    """Import everything: pytest and the environment's plugins, which are found by their names."""
    import difflib  # noqa: F401  (pytest imports these late, when the work tree is on the path)
    import pprint  # noqa: F401
    import importlib.metadata
    import pytest  # noqa: F401

    seen = importlib.metadata.entry_points()
    if hasattr(seen, "select"):
        entries = list(seen.select(group="pytest11"))
    else:
        entries = list(seen.get("pytest11", ()))
    # plugins of the environment, found now: metadata in the work tree adds none
    plugins, names = [], []
    for entry in entries:
        if entry.name not in names:
            names.append(entry.name)
            plugins.append(entry.load())
    infradev_watch.load_machinery()
    return names, plugins


def prepare(line, options):
    """While only the environment is on the path."""
    import _pytest.config
    import pluggy
    import pytest

    aside = []
    names, plugins = load()
    original = _pytest.config.Config.getini

    def getini(self, name):
        value = original(self, name)
        if name == "addopts":
            value, dropped = keep_options(value)
            aside.extend(dropped)
        return value

    _pytest.config.Config.getini = getini
    own = (
        sys.modules[__name__], infradev_watch, infradev_compare, infradev_places, infradev_probe,
    )
    looks = infradev_watch.watch(line.send, options["worktree"], own, plugins)
    reporter = make_plugin(pytest, line, options, looks)
    looks.own(line, reporter)
    line.send(
        "hello",
        python=sys.version.split()[0],
        pytest=pytest.__version__,
        pluggy=pluggy.__version__,
        plugins=names,
    )
    return Session(pytest, line, options, reporter, plugins, aside)


class Session:
    def __init__(self, pytest, line, options, reporter, plugins, aside):
        self.pytest = pytest
        self.line = line
        self.options = options
        self.reporter = reporter
        self.plugins = plugins
        self.aside = aside

    def arguments(self):
        options = self.options
        words = [
            "-p", "no:cacheprovider",
            "--rootdir", options["worktree"],
            "--continue-on-collection-errors",
            "--color=no",
            "--show-capture=no",
            "-o", "required_plugins=",
        ]
        if options.get("stack_s"):
            words += ["-o", "faulthandler_timeout=%s" % options["stack_s"]]
        words += options["args"]
        # a path may look like an option
        return words + [p if not p.startswith("-") else "./" + p for p in options["paths"]]

    def run(self):
        words = self.arguments()
        sys.argv[:] = ["pytest"] + words
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        reporter = self.reporter
        try:
            code = int(self.pytest.main(words, plugins=[reporter] + self.plugins))
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 3
            self.line.send("interrupt", m="SystemExit: %s" % text_of(error, MESSAGE))
        except BaseException as error:
            code = 3
            self.line.send("internal", m=text_of(error, MESSAGE), t="")
        reporter.leave()
        failed, reported = reporter.counts()
        self.line.send("end", code=code, failed=failed, reported=reported, aside=self.aside[:64])
        return code & 0xFF


def make_plugin(pytest, line, options, looks):
    case, quick, whole = looks.case, looks.quick, looks.whole
    collected, attach = looks.collected, looks.attach
    worktree = options["worktree"]
    only = options.get("only")
    only = None if only is None else frozenset(only)
    files = options.get("files")
    files = None if files is None else frozenset(files)
    ignore = frozenset(options.get("ignore") or ())
    directory = getattr(pytest, "Directory", None)
    container = (pytest.File,) if directory is None else (pytest.File, directory)
    send = line.send
    places = {}  # id(item) -> place in the list
    items_kept = []  # keeps the items alive, so that an id() is not used again
    current = [None]
    session_seen = [None]
    reported = [0]
    step = None
    if options.get("step"):
        step = Step(options["step"], options["rank"], options["ranks"])

    def relative(path):
        path = str(path)
        prefix = worktree.rstrip("/") + "/"
        return clean(path[len(prefix):]) if path.startswith(prefix) else clean(path)

    def ignored(path):
        name = relative(path)
        if name in ignore:
            return True
        if files is None or name.endswith("__init__.py") or os.path.isdir(str(path)):
            return None
        return None if name in files else True

    def why(report):
        return {"m": message_of(report.longrepr), "t": text_of(report.longrepr)}

    class Plugin:
        def leave(self):
            whole()
            if step is not None:
                step.leave()

        def counts(self):
            return (getattr(session_seen[0], "testsfailed", 0), reported[0])

        @pytest.hookimpl(tryfirst=True)
        def pytest_configure(self, config):
            os.environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionstart(self, session):
            session_seen[0] = session
            attach(session)

        if int(pytest.__version__.split(".")[0]) >= 7:

            @pytest.hookimpl(tryfirst=True)
            def pytest_ignore_collect(self, collection_path):
                return ignored(collection_path)

        else:

            @pytest.hookimpl(tryfirst=True)
            def pytest_ignore_collect(self, path):
                return ignored(path)

        @pytest.hookimpl(tryfirst=True)
        def pytest_collectstart(self, collector):
            if isinstance(collector, container):
                send("collecting", node=clean(collector.nodeid))

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_make_collect_report(self, collector):
            outcome = yield
            if outcome.excinfo is not None:
                return  # SystemExit or an interrupt, on its way to the end of the session
            report = outcome.get_result()
            fields = {}
            if report.outcome != "passed":
                fields = why(report)
                excinfo = getattr(getattr(report, "call", None), "excinfo", None)
                if excinfo is not None and report.outcome == "failed":
                    fields["f"] = frames_of(excinfo, worktree)
            elif not isinstance(collector, container):
                return
            send("node", node=clean(report.nodeid), o=text_of(report.outcome, 32), **fields)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(self, session, config, items):
            yield
            seen = {}
            rows, chosen, others = [], [], []
            for place, item in enumerate(items):
                name = clean(item.nodeid)
                unique = name
                count = seen.get(name, 0) + 1
                while count > 1 and "%s (%d)" % (name, count) in seen:
                    count += 1
                if count > 1:
                    unique = "%s (%d)" % (name, count)
                    seen[unique] = 1
                seen[name] = count
                places[id(item)] = place
                items_kept.append(item)
                function = getattr(item, "originalname", None) or getattr(item, "name", "")
                owner = getattr(getattr(item, "cls", None), "__qualname__", "")
                rows.append([unique, text_of(function, 1024), text_of(owner, 1024)])
                (chosen if only is None or unique in only else others).append(item)
            for at in range(0, len(rows), LIST_PART):
                send("cases", rows=rows[at:at + LIST_PART])
            if others:
                items[:] = chosen
                config.hook.pytest_deselected(items=others)
            send("collected", count=len(rows), selected=len(chosen))
            collected(chosen)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_protocol(self, item, nextitem):
            place = places.get(id(item), -1)
            if step is not None:
                step.line_up()
            current[0] = place
            if place < 0:
                send("start", c=-1, id=text_of(item.nodeid, MESSAGE))
            else:
                send("start", c=place)
            case(item, place)
            outcome = yield
            if not line.alive():
                os._exit(70)  # a forked child that got out of its case: the session is not its own
            error = outcome.excinfo
            if error is None:
                send("finish", c=place)
            else:
                send("broken", c=place, m="%s: %s" % (
                    text_of(error[0].__name__, 256), text_of(error[1], MESSAGE)))
            current[0] = None

        @pytest.hookimpl(hookwrapper=True, trylast=True)
        def pytest_runtest_call(self, item):
            yield
            trim_capture(item.config)

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(self, item, call):
            if call.when != "teardown":
                quick()  # what the teardown leaves is seen after the next setup, or at the end
            outcome = yield
            try:
                sections = item._report_sections
                if any(len(s[2]) > TEXT for s in sections):
                    item._report_sections = [(w, k, cut(t, TEXT)) for w, k, t in sections]
                if outcome.excinfo is None:
                    report = outcome.get_result()
                    if any(len(s[1]) > TEXT for s in report.sections):
                        report.sections = [(n, cut(t, TEXT)) for n, t in report.sections]
                    if call.excinfo is not None and report.outcome == "failed":
                        report.infradev_frames = frames_of(call.excinfo, worktree)
            except Exception:
                pass  # a report of another kind: it is told without frames

        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_logreport(self, report):
            fields = {}
            result = report.outcome
            expected = getattr(report, "wasxfail", None)
            if expected is not None:
                fields["x"] = text_of(expected, MESSAGE)
            if result == "skipped" or (result != "passed" and result != "failed"):
                fields["m"] = message_of(report.longrepr)
            elif result == "failed":
                fields.update(why(report))
                frames = getattr(report, "infradev_frames", None)
                if frames:
                    fields["f"] = frames
                sections = []
                for name, text in report.sections[-16:]:
                    sections.append([text_of(name, 256), text_of(text)])
                if sections:
                    fields["s"] = sections
            reported[0] += 1
            try:
                seconds = max(0.0, min(1e9, float(report.duration)))
            except Exception:
                seconds = 0.0
            send(
                "report",
                c=-1 if current[0] is None else current[0],
                p=report.when,
                o=result if type(result) is str else text_of(result, 64),
                d=seconds,
                **fields,
            )

        @pytest.hookimpl(tryfirst=True)
        def pytest_keyboard_interrupt(self, excinfo):
            kind = getattr(getattr(excinfo, "type", None), "__name__", "interrupt")
            name = "pytest.exit" if kind == "Exit" else kind
            send("interrupt", m="%s: %s" % (name, text_of(excinfo.value, MESSAGE)))

        @pytest.hookimpl(tryfirst=True)
        def pytest_internalerror(self, excrepr, excinfo):
            send("internal", m=text_of(excinfo.value, MESSAGE), t=text_of(excrepr))

    def forked():
        line.close()
        # the thread that prints the stack of a slow case is not in the child, and cancelling it
        # would wait for it
        faulthandler.cancel_dump_traceback_later = lambda: None

    os.register_at_fork(after_in_child=forked)
    return Plugin()
