"""What tests compare with, beside pytest's own: functions and classes of some modules, and how they
are when the environment has made them.

Modules that are there before the work tree is on the path are as they should be. Those that come
later are taken as they are when their import ends, before whoever asked for it goes on: the import
system's function that finds and loads passes through here. One that came by another way is told.
"""

import builtins

# functions keep the built-in names that they were made with: these are ours alone
__builtins__ = dict(vars(builtins))

import sys  # noqa: E402
import types  # noqa: E402

from infradev_places import (  # noqa: E402
    FUNCTION, HEAP, Functions, Places, module_of, type_flags, watch_class,
)

NAMES = frozenset((
    "cmath", "copy", "decimal", "fractions", "functools", "itertools", "json", "json.decoder",
    "json.encoder", "math", "operator", "random", "re", "statistics", "struct", "time",
    "unittest", "unittest.case", "unittest.mock", "unittest.util",
    "torch", "torch._tensor", "torch.functional", "torch.linalg", "torch.nn.functional",
    "torch.testing", "torch.testing._comparison",
    "numpy", "numpy.linalg", "numpy.linalg._linalg", "numpy.linalg.linalg",
    "numpy.testing", "numpy.testing._private.utils",
)) | frozenset([
    # the second name is the one of before numpy 2
    package + one
    for package in ("numpy._core.", "numpy.core.")
    for one in ("_methods", "fromnumeric", "multiarray", "numeric", "shape_base", "umath")
]) | frozenset([
    "numpy.lib." + one
    for one in (
        "_arraysetops_impl", "_function_base_impl", "_nanfunctions_impl", "_ufunclike_impl",
        "arraysetops", "function_base", "nanfunctions", "ufunclike",
    )
])

# torch's compiler wraps it when it is first used
ASIDE = (("torch", "manual_seed"),)

part = str.rpartition


def wanted(name):
    return name in NAMES


def of_unittest(name):
    return name[:8] == "unittest"


def behind(value):
    """The Python function that numpy's own kind of function asks when no argument takes over."""
    if type(value).__name__ == "_ArrayFunctionDispatcher":
        return getattr(value, "_implementation", None)
    return value


class Compared:
    """The modules' places and functions. The watch adds its own to them."""

    def __init__(self):
        self.places, self.functions = Places(), Functions()
        # by id(): kept, so that it is not used again
        self.taken, self.kinds, self.waiting = {}, {}, []
        # which functions are a module's
        self.inner = {}
        self.take_all()

    def take_all(self):
        for name, found in list(sys.modules.items()):
            if wanted(name):
                self.take(name, found)

    def as_now(self):
        """What was made ahead of time, as if it were made now."""
        self.places.as_now()
        self.functions.as_now()
        self.take_all()

    def take(self, name, found):
        if type(found) is not types.ModuleType or id(found) in self.taken:
            return
        self.taken[id(found)] = found
        area = "unittest" if of_unittest(name) else "testing"
        root = name.split(".", 1)[0]
        mapping, names = vars(found), []
        before = len(self.functions.functions)
        for key, value in list(mapping.items()):
            # what is called, and numbers such as math.inf: the rest are settings and data
            if (not callable(value) and type(value) is not float) or (name, key) in ASIDE:
                continue
            names.append(key)
            inner = behind(value)
            if type(inner) is FUNCTION:
                # of numpy what it offers, wherever that is written
                if inner.__globals__ is mapping or name == "numpy":
                    self.functions.add(area, name + "." + key, inner)
            elif isinstance(value, type) and type_flags(value) & HEAP and id(value) not in self.kinds:
                module = module_of(value)
                if module.split(".", 1)[0] == root:
                    self.kinds[id(value)] = value
                    holder = name + "." + key
                    watch_class(self.places, self.functions, area, holder, value, module, grows=False)
        self.inner[id(found)] = range(before, len(self.functions.functions))
        self.places.add(area, name, mapping, names)
        self.places.may_not_grow(area, name, mapping, False)

    def imported(self, name):
        """An import ended. While one around it goes on, its module may still be changed by that."""
        self.waiting.append(name)
        if under_way(name):
            return
        for one in [one for one in self.waiting if not under_way(one)]:
            self.waiting.remove(one)
            self.take(one, sys.modules.get(one))

    def follow(self):
        """From now on imports pass through here. Where the function stands, and under which name."""
        bootstrap = vars(sys.modules["_frozen_importlib"])
        original, imported = bootstrap["_find_and_load"], self.imported

        def _find_and_load(name, import_):
            found = original(name, import_)
            if wanted(name):
                try:
                    imported(name)
                except Exception:
                    pass  # not taken, which is told
            return found

        # tracebacks leave out what is of the import system's file
        code = _find_and_load.__code__.replace(co_filename=original.__code__.co_filename)
        _find_and_load.__code__ = code
        bootstrap["_find_and_load"] = _find_and_load
        return bootstrap, ["_find_and_load"]


def under_way(name):
    """Whether the import of the module or of a package around it has not ended."""
    while name:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if getattr(spec, "_initializing", False):
            return True
        name = part(name, ".")[0]
    return False
