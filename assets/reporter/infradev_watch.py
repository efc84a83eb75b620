"""What decides an outcome, as it was before the work tree was on the path, against what it is now.

Watched are pytest, pluggy, the reporter itself, the registered hooks, the built-in names, unittest,
what else tests compare with (infradev_compare.py), trace functions and import hooks: which object
stands in each place, and of functions their code, defaults and closures too. A look compares
pointers only; a place that changed is described once, and what stands there now is the state from
then on.

Two looks: `quick` before every report, at what makes one; `whole` at everything, after collection,
at the end, and before one case in `EACH`. Which cases these are follows from their ids: gold's run
is looked at in the same places, so that what tests change for a while is seen in both or in none.

`send` gets kind "deviation" and these fields:
  a  area: pytest, pluggy, reporter, hook, builtins, unittest, testing, trace, import, test
  s  the place that changed
  f, q, v  file, qualified name and line of what stands there now
  h  digest of its code; empty where it has none in Python

Everything runs in the process of the code under test, which can find and change all of this, too.
"""

import builtins

# functions keep the built-in names that they were made with: these are ours alone
__builtins__ = dict(vars(builtins))

import hashlib  # noqa: E402
import importlib.util  # noqa: E402
import marshal  # noqa: E402
import operator  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import threading  # noqa: E402
import types  # noqa: E402
from itertools import chain  # noqa: E402

import infradev_probe  # noqa: E402
from infradev_compare import Compared, of_unittest, wanted  # noqa: E402
from infradev_places import (  # noqa: E402
    CODE, FUNCTION, GONE, HEAP, WATCHED, code_of, content_of, dict_of, function_of, getter_of_some, inner_of,
    module_of, plain_function, real_dict, type_flags, type_name, watch_class,
)

# Descriptions sent by one process; gold's are compared one by one
MOST = 1024
# ... and of these for one place
MOST_AT = 16
# The whole look comes before one case in so many
EACH = 256

# hooks that make a report, and those that choose what is run
DECIDING = (
    "pytest_runtest_protocol", "pytest_runtest_setup", "pytest_runtest_call",
    "pytest_runtest_teardown", "pytest_runtest_makereport", "pytest_pyfunc_call",
)
# whose functions are held against the environment's files, too, when they are first seen
LATE = (
    "unittest.case", "numpy.testing", "numpy.testing._private.utils",
    "torch.testing", "torch.testing._comparison",
)
# what results are made of, told from the compiled part: which class stands under the name
KINDS = (("numpy", "ndarray"), ("torch", "Tensor"))
ROOTS = ("_pytest", "pytest", "pluggy")
# of pytest, what says how things look, not how they are
ASIDE = (
    "_argcomplete", "_io", "_py", "_version", "cacheprovider", "capture", "debugging", "deprecated",
    "faulthandler", "freeze_support", "helpconfig", "hookspec", "junitxml", "legacypath", "logging",
    "monkeypatch", "pastebin", "pathlib", "pytester", "pytester_assertions", "setuponly",
    "setupplan", "stash", "stepwise", "terminal", "terminalprogress", "timing", "tmpdir",
    "warning_types",
)
# what an instance of an item has no business to have of its own
SHADOWS = ("runtest", "setup", "teardown", "repr_failure", "iter_markers", "listchain", "gethookproxy")


def load_machinery():
    """pytest's own plugins, which it would import when the work tree is on the path."""
    import _pytest.config

    for name in _pytest.config.default_plugins:
        importlib.import_module("_pytest." + name)


def digest_of(code, depth=0):
    """What the code does, wherever it stands."""
    hash = hashlib.sha256()
    parts = [code.co_code, repr(code.co_names), repr(code.co_varnames), repr(code.co_freevars)]
    for constant in code.co_consts:
        if type(constant) is CODE:
            parts.append(digest_of(constant, depth + 1) if depth < 16 else "deep")
        elif type(constant) is frozenset:
            parts.append(repr(sorted(repr(one) for one in constant)))
        else:
            parts.append(repr(constant))
    for part in parts:
        hash.update(part if type(part) is bytes else part.encode("utf-8", "backslashreplace"))
        hash.update(b"\0")
    return hash.hexdigest()[:16]


class Known:
    """Code that was there before the work tree: also what functions in functions are made of."""

    def __init__(self):
        self.ids = set()
        self.kept = []
        self.fresh = []

    def add(self, function):
        code = function.__code__
        if id(code) not in self.ids:
            self.ids.add(id(code))
            self.kept.append(code)
            self.fresh.append(code)

    def holds(self, code):
        if id(code) in self.ids:
            return True
        while self.fresh:
            for constant in self.fresh.pop().co_consts:
                if type(constant) is CODE and id(constant) not in self.ids:
                    self.ids.add(id(constant))
                    self.fresh.append(constant)
        return id(code) in self.ids


class Shipped:
    """Functions as the files of the environment make them. What a code object says of where it is
    from proves nothing: `compile` takes any name. So its like must be in the file of that name."""

    def __init__(self):
        library = os.path.dirname(os.__file__)
        folders = [library] + [one for one in sys.path if os.path.isabs(one)]
        self.folders = tuple([folder.rstrip("/") + "/" for folder in folders])
        self.files = {}
        self.tag = sys.implementation.cache_tag
        self.magic = importlib.util.MAGIC_NUMBER
        # modules that are in the interpreter itself have no file
        self.frozen, self.kept = set(), []
        for found in list(sys.modules.values()):
            if type(found) is types.ModuleType:
                self.keep_frozen(list(vars(found).values()))

    def keep_frozen(self, values, deep=True):
        for value in values:
            if deep and isinstance(value, type) and type_flags(value) & HEAP:
                self.keep_frozen(list(dict_of(value).values()), False)
            function = plain_function(value)
            if function is not None and function.__code__.co_filename[:8] == "<frozen ":
                self.kept.append(function.__code__)
                self.frozen.add(id(function.__code__))

    def codes(self, path):
        """All code of a file, as it was compiled with the environment or is compiled now."""
        folder, _, name = path.rpartition("/")
        cached = "%s/__pycache__/%s.%s.pyc" % (folder, name[:-3], self.tag)
        try:
            with open(cached, "rb") as file:
                data = file.read()
            if data[:4] != self.magic:
                raise ValueError("of another interpreter")
            whole = marshal.loads(data[16:])
        except (OSError, ValueError, EOFError, TypeError):
            try:
                with open(path, "rb") as file:
                    whole = compile(file.read(), path, "exec", dont_inherit=True)
            except (OSError, ValueError, SyntaxError):
                return frozenset()
        codes, left = set(), [whole]
        while left:
            code = left.pop()
            codes.add(code)
            left.extend([one for one in code.co_consts if type(one) is CODE])
        return codes

    def holds(self, function, depth=0):
        """Whether it is one of the environment's: its code, where it looks names up, and the
        functions that it closes over."""
        code = function.__code__
        if id(code) not in self.frozen:
            path = code.co_filename
            if not (path.startswith(self.folders) and path.endswith(".py")) or "/../" in path:
                return False
            if path not in self.files:
                self.files[path] = self.codes(path)
            if code not in self.files[path]:
                return False
            home = sys.modules.get(function.__globals__.get("__name__"))
            if type(home) is not types.ModuleType or vars(home) is not function.__globals__:
                return False
            if vars(home).get("__file__") != path:
                return False
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            if type(content) is FUNCTION and not (depth < 8 and self.holds(content, depth + 1)):
                return False
        return True


class Looks:
    """What the reporter calls."""

    def __init__(self, own, attach, collected, case, quick, whole):
        self.own, self.attach, self.collected = own, attach, collected
        self.case, self.quick, self.whole = case, quick, whole


def compiled_kind(module, kind):
    """The class that compiled code makes under that name; None: there is none."""
    if module == "torch":
        try:
            return infradev_probe.tensors()
        except Exception:
            return None
    found = vars(sys.modules[module]).get(kind)
    whole = isinstance(found, type) and not type_flags(found) & HEAP
    return found if whole and type_name(found) == kind and module_of(found) == module else None


def watch(send, worktree, own_modules, plugins):
    """Takes the state as it is now. `plugins`: the environment's."""
    compared, known, shipped = Compared(), Known(), Shipped()
    places, functions = compared.places, compared.functions

    def of_class(area, holder, kind, module):
        watch_class(places, functions, area, holder, kind, module, True, known)

    def of_module(area, name, found):
        names = []
        for key, value in list(vars(found).items()):
            if type(value) is FUNCTION:
                names.append(key)
                if value.__module__ == name:
                    functions.add(area, name + "." + key, value)
                    known.add(value)
            elif isinstance(value, type):
                names.append(key)
                # those made in C do not change
                if module_of(value) == name and type_flags(value) & HEAP:
                    of_class(area, name + "." + key, value, name)
        places.add(area, name, vars(found), names)
        places.may_not_grow(area, name, vars(found), False)

    def know(found, name):
        """The hooks of a plugin of the environment are no news."""
        for key, value in list(vars(found).items()):
            kind = type(value)
            # pytest replaces some of its own methods by functions of the latter when it starts
            if kind is FUNCTION and (key[:7] == "pytest_" or name == "_pytest.legacypath"):
                known.add(value)
            elif kind is type and module_of(value) == name and type_flags(value) & HEAP:
                for inner, method in list(dict_of(value).items()):
                    if inner[:7] == "pytest_" and type(method) is FUNCTION:
                        known.add(method)

    machinery = []
    roots = set()
    for plugin in plugins:
        roots.add(getattr(plugin, "__name__", "").split(".", 1)[0])
    for name, found in list(sys.modules.items()):
        if type(found) is not types.ModuleType:
            continue
        root = name.split(".", 1)[0]
        if root == "_pytest" and name.split(".", 2)[1:2] and name.split(".", 2)[1] in ASIDE:
            know(found, name)
        elif root in ROOTS:
            of_module("pluggy" if root == "pluggy" else "pytest", name, found)
            machinery.append(name)
        elif root in roots:
            know(found, name)
    places.add("pytest", "sys.modules", sys.modules, machinery)
    for one in own_modules:
        of_module("reporter", one.__name__, one)
        private = one.__builtins__
        places.add("reporter", one.__name__ + ".__builtins__", private, list(private))
    places.add("import", "importlib", *compared.follow())
    ours = vars(builtins)
    built_in = dict(ours)
    told_apart = ("_", "__doc__", "__spec__", "__loader__")
    places.add("builtins", "builtins", ours, [name for name in ours if name not in told_apart])
    places.add("builtins", "os", vars(os), ["_exit", "write"])
    places.add("trace", "threading", vars(threading), ["settrace", "setprofile"])
    places.add("trace", "sys", vars(sys), ["settrace", "setprofile", "gettrace", "getprofile"])

    # the quick look's share of it
    loaded = sys.modules
    runner, python = loaded["_pytest.runner"], loaded["_pytest.python"]
    # older versions of pluggy have no underscore in front of their modules
    hooks, callers, result = [
        loaded.get("pluggy._" + name) or loaded["pluggy." + name]
        for name in ("hooks", "callers", "result" if "pluggy._result" in loaded else "callers")
    ]
    hook_caller = getattr(hooks, "HookCaller", None) or hooks._HookCaller
    result = getattr(result, "Result", None) or result._Result
    quick_rows, quick_functions, quick_cells = [], [], []
    for mapping, names in (
        (vars(runner), ("CallInfo", "TestReport", "call_and_report", "call_runtest_hook",
                        "runtestprotocol", "ExceptionInfo", "check_interactive_exception")),
        (real_dict(runner.CallInfo), ("from_call", "__init__")),
        (real_dict(loaded["_pytest.reports"].TestReport), ("from_item_and_call", "__init__")),
        (real_dict(python.Function), ("runtest", "setup")),
        (real_dict(loaded["_pytest._code.code"].ExceptionInfo), ("from_current", "from_exc_info")),
        (vars(callers), ("_multicall", "_Result", "Result", "HookCallError")),
        (real_dict(hook_caller), ("__call__", "call_extra", "get_hookimpls")),
        (real_dict(result), ("get_result", "force_result", "from_call")),
        (vars(python), ()),
    ):
        names = [name for name in names if name in mapping]
        if len(names) > 1:
            quick_rows.append((operator.itemgetter(*names), mapping))
        if mapping is vars(runner) or mapping is vars(python):
            # found by the hooks, whose functions are looked at as well
            names = [name for name in tuple(names) + DECIDING if name in mapping]
        for name in names:
            function = plain_function(mapping[name])
            if function is not None and function not in quick_functions:
                quick_functions.append(function)
    needed = {}
    for holder in (runner, python):
        for name in DECIDING:
            function = vars(holder).get(name)
            if type(function) is FUNCTION:
                needed.setdefault(name, []).append(function.__code__)

    # bound here: what is looked up later may have been replaced
    all_, map_, len_, same, chain_ = all, map, len, operator.is_, chain.from_iterable
    code_get, inner_get, function_get, content_get = code_of, inner_of, function_of, content_of
    gettrace, getprofile = sys.gettrace, sys.getprofile
    get_tool = getattr(getattr(sys, "monitoring", None), "get_tool", None)
    stdlib = os.path.dirname(os.__file__) + "/"
    prefix = worktree.rstrip("/") + "/"
    sent, counts, late, items = set(), {}, set(), {}
    state = {
        "sys.settrace": gettrace(), "sys.setprofile": getprofile(), "threads": (None, None),
        "case": -1, "manager": None, "session": None, "lists": [], "quick": [],
    }
    finders = {}
    for finder in list(sys.meta_path) + list(sys.path_hooks):
        finders[id(finder)] = finder

    def file_of(name):
        name = name if type(name) is str else ""
        if name.startswith(prefix):
            return name[len(prefix):]
        if "/site-packages/" in name:
            return "site-packages/" + name.rsplit("/site-packages/", 1)[1]
        if name.startswith(stdlib):
            return "stdlib/" + name[len(stdlib):]
        return name

    def described(value):
        """File, qualified name, line and digest of what stands in a place."""
        if value is GONE:
            return "", "(gone)", 0, ""
        function = plain_function(value)
        if function is not None or type(value) is CODE:
            code = value if function is None else function.__code__
            name = code.co_name if function is None else function.__qualname__
            return file_of(code.co_filename), name, code.co_firstlineno, digest_of(code)
        if type(value) is types.BuiltinFunctionType:
            owner = value.__self__
            module = owner.__name__ if type(owner) is types.ModuleType else ""
            return module, value.__name__, 0, ""
        is_class = issubclass(type(value), type)
        kind = value if is_class else type(value)
        called = None if is_class else plain_function(dict_of(kind).get("__call__"))
        if called is not None:
            code = called.__code__
            return file_of(code.co_filename), type_name(kind), code.co_firstlineno, digest_of(code)
        return module_of(kind), type_name(kind), 0, ""

    def tell(area, slot, value):
        try:
            file, name, line, digest = described(value)
        except BaseException as error:
            file, name, line, digest = "", "(unreadable: %s)" % type(error).__name__, 0, ""
        key = (area, slot, file, name, digest)
        if key in sent:
            return
        sent.add(key)
        # by area and place: many weak ones do not hide a strong one
        for where, most in ((area, MOST), ((area, slot), MOST_AT)):
            counts[where] = counts.get(where, 0) + 1
            if counts[where] > most:
                return
        texts = [
            str(text)[:300].encode("utf-8", "backslashreplace").decode("utf-8")
            for text in (slot, file, name)
        ]
        send("deviation", a=area, s=texts[0], f=texts[1], q=texts[2], v=line, h=digest, c=state["case"])

    def legacy(value):
        """pytest's own replacements, made when it starts."""
        function = plain_function(value)
        own = getattr(loaded.get("_pytest.legacypath"), "__dict__", None)
        return (
            function is not None and function.__globals__ is own and not strange(function)
        )

    def changed(row):
        _, mapping, before, first, area, holder, keys = row
        now = tuple([mapping.get(key, GONE) for key in keys])
        for key, new, old, original in zip(keys, now, before, first):
            if new is old or new is original or legacy(new):
                continue
            function = plain_function(new)
            # the first one, wrapped anew, is no change
            if function is None or function is not plain_function(original):
                tell(area, holder + "." + key, new)
        if any([one is GONE for one in now]):
            # a name that is gone cannot be fetched with the others any more
            row[0] = getter_of_some(keys)
        row[2] = now

    def look_at_places():
        for row in places.rows:
            try:
                if all_(map_(same, row[0](row[1]), row[2])):
                    continue
            except KeyError:
                pass
            changed(row)

    def look_at_functions():
        now = list(chain_(map_(inner_get, functions.functions)))
        if not all_(map_(same, now, functions.inner)):
            for at, new in enumerate(now):
                if new is functions.inner[at]:
                    continue
                functions.inner[at] = new
                if new is not functions.first[at]:
                    area, name = functions.names[at // 3]
                    part = (".__code__", ".__defaults__", ".__kwdefaults__")[at % 3]
                    tell(area, name + part, new)
        for row in functions.cells:
            try:
                new = row[0].cell_contents
            except ValueError:
                new = GONE
            if new is not row[1]:
                row[1] = new
                tell(row[2], row[3] + ".__closure__", new)

    def strange(value):
        """A function that was not there before the work tree."""
        function = plain_function(value)
        return function is not None and not known.holds(function.__code__)

    def look_at_hooks():
        """Every registered implementation: those of the work tree are told, and those of the
        environment that make a report must be there."""
        manager = state["manager"]
        if manager is None:
            return
        for holder, one in (("PluginManager", manager), ("Session", state["session"])):
            for name, value in list(vars(one).items()):
                if strange(value):
                    tell("pluggy" if one is manager else "pytest", holder + "." + name, value)
        relay = manager.hook
        for name, caller in list(vars(relay).items()):
            if name[:1] == "_":
                continue
            if type(caller) is not hook_caller:
                tell("pluggy", "hook." + name, type(caller))
                continue
            if strange(caller._hookexec):
                tell("pluggy", "hook." + name + "._hookexec", caller._hookexec)
            codes = set()
            for impl in caller.get_hookimpls():
                function = plain_function(impl.function)
                code = None if function is None else function.__code__
                codes.add(id(code))
                if code is None or not known.holds(code):
                    tell("hook", name, impl.function)
            for code in needed.get(name, ()):
                if id(code) not in codes:
                    tell("pytest", "hook." + name, GONE)
        state["lists"] = [
            getattr(getattr(relay, name), part)
            for name in DECIDING
            for part in ("_hookimpls", "_nonwrappers", "_wrappers")
            if type(getattr(getattr(relay, name, None), part, None)) is list
        ]

    def look_at_grown():
        for row in places.grown:
            mapping, before, area, holder, is_class = row
            now = list(mapping)
            if len_(now) == len_(before) and all_(map_(same, now, before)):
                continue
            row[1] = now
            for key in set(now).difference(before):
                value = mapping.get(key, GONE)
                hides = type(value) in WATCHED if is_class else value is not built_in.get(key, value)
                if hides:
                    tell(area, holder + "." + key, value)

    def look_at_late():
        for name, found in list(sys.modules.items()):
            if wanted(name) and id(found) not in compared.taken and type(found) is types.ModuleType:
                # came in by another way than an import
                tell("unittest" if of_unittest(name) else "testing", name, found)
                compared.take(name, found)
        for name in LATE:
            found = sys.modules.get(name)
            if name in late or type(found) is not types.ModuleType:
                continue
            late.add(name)
            area = "unittest" if of_unittest(name) else "testing"
            inner = [
                (functions.names[at][1], functions.functions[at])
                for at in compared.inner.get(id(found), ())
            ]
            for key, value in list(vars(found).items()):
                if type(value) is FUNCTION:
                    inner.append((name + "." + key, value))
            for slot, function in inner:
                if not shipped.holds(function):
                    tell(area, slot, function)
        for name, kind in KINDS:
            found = sys.modules.get(name)
            if name in late or type(found) is not types.ModuleType or kind not in vars(found):
                continue
            late.add(name)
            places.add("testing", name, vars(found), [kind])
            if vars(found)[kind] is not compiled_kind(name, kind):
                tell("testing", name + "." + kind, vars(found)[kind])

    def look_around():
        for slot, get in (("sys.settrace", gettrace), ("sys.setprofile", getprofile)):
            now = get()
            if now is not state[slot]:
                state[slot] = now
                if now is not None:
                    tell("trace", slot, now)
        now = (getattr(threading, "_trace_hook", None), getattr(threading, "_profile_hook", None))
        for new, old in zip(now, state["threads"]):
            if new is not old and new is not None:
                tell("trace", "threading.settrace", new)
        state["threads"] = now
        for number in range(6) if get_tool is not None else ():
            if get_tool(number) is not None:
                tell("trace", "sys.monitoring", get_tool(number))
        for slot, listed in (("sys.meta_path", sys.meta_path), ("sys.path_hooks", sys.path_hooks)):
            for finder in list(listed):
                if id(finder) in finders:
                    continue
                finders[id(finder)] = finder
                method = plain_function(finder)
                kind = finder if isinstance(finder, type) else type(finder)
                for name in ("find_spec", "find_module", "__call__"):
                    method = method or plain_function(dict_of(kind).get(name))
                # libraries bring finders of their own; the work tree's are told
                if method is not None and strange(method):
                    file = file_of(method.__code__.co_filename)
                    if not file.startswith(("site-packages/", "stdlib/")):
                        tell("import", slot, method)

    def whole():
        look_at_late()
        look_at_places()
        look_at_grown()
        look_at_functions()
        look_at_hooks()
        look_around()
        try:
            state["quick"] = quick_state()
        except (AttributeError, KeyError, ValueError):
            state["quick"] = ()  # something is gone, which was told

    def quick_state():
        now = [gettrace(), getprofile()]
        for get, mapping in quick_rows:
            now += get(mapping)
        now += map_(code_get, quick_functions)
        now += map_(content_get, quick_cells)
        now += map_(function_get, chain_(state["lists"]))
        return now

    def quick():
        before = state["quick"]
        try:
            now = quick_state()
        except (AttributeError, KeyError, ValueError):
            return whole()
        if len_(now) != len_(before) or not all_(map_(same, now, before)):
            whole()

    def own(channel, plugin):
        """The reporter's own, made after this."""
        for name, value in list(vars(channel).items()):
            functions.add("reporter", "Channel." + name, value)
        places.add("reporter", "Channel", vars(channel), list(vars(channel)))
        of_class("reporter", "Plugin", type(plugin), type(plugin).__module__)
        for name, value in list(vars(type(plugin)).items()):
            if name.startswith("pytest_runtest_") and type(value) is FUNCTION:
                needed.setdefault(name, []).append(value.__code__)
        for look in (tell, changed, whole, quick, quick_state, case, look_at_places, look_at_grown,
                     look_at_functions, look_at_hooks):
            functions.add("reporter", "watch." + look.__name__, look)
        for cell, _, _, name in functions.cells:
            if name in ("Plugin.pytest_runtest_logreport", "Channel.send"):
                quick_cells.append(cell)

    def attach(session):
        state["session"] = session
        state["manager"] = session.config.pluginmanager

    def of_item(item):
        found = plain_function(vars(item).get("_obj"))
        return type(item), None if found is None else found.__code__

    def collected(chosen):
        for item in chosen:
            items[id(item)] = (of_item(item), item)
        whole()

    def case(item, place):
        """A case is about to begin, and is what was collected. (The rest was looked at before the
        report of the teardown before it.) Nothing of the case before is left but wider fixtures."""
        state["case"] = place
        seen = items.get(id(item))
        if seen is not None:
            kind, code = of_item(item)
            if kind is not seen[0][0] or not vars(item).keys().isdisjoint(SHADOWS):
                named = [name for name in SHADOWS if name in vars(item)]
                tell("pytest", "item", vars(item)[named[0]] if named else kind)
            if code is not seen[0][1] and None not in (code, seen[0][1]) and not known.holds(code):
                tell("test", "function", code)
        if sum(item.nodeid.encode("utf-8", "replace")) % EACH == 0:
            whole()

    return Looks(own, attach, collected, case, quick, whole)
