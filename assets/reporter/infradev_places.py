"""Places where functions and classes stand, and the insides of functions: how they are fetched,
fast, and without asking what stands there itself.

What is kept of them is compared by infradev_watch.py."""

import builtins

# functions keep the built-in names that they were made with: these are ours alone
__builtins__ = dict(vars(builtins))

import functools  # noqa: E402
import gc  # noqa: E402
import operator  # noqa: E402
import types  # noqa: E402

FUNCTION = types.FunctionType
CODE = types.CodeType
METHOD = types.MethodType
WATCHED = (FUNCTION, type, staticmethod, classmethod, property)
CALLED = (FUNCTION, METHOD, type, types.BuiltinFunctionType)
GONE = object()
HEAP = 1 << 9

code_of = operator.attrgetter("__code__")
inner_of = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")
function_of = operator.attrgetter("function")
content_of = operator.attrgetter("cell_contents")
type_name = type.__dict__["__qualname__"].__get__
type_flags = type.__dict__["__flags__"].__get__
dict_of = type.__dict__["__dict__"].__get__


def module_of(kind):
    """The module that a class says it is of, without asking the class itself."""
    try:
        name = type.__getattribute__(kind, "__module__")
        return str.__str__(name) if isinstance(name, str) else ""
    except BaseException:
        return ""


def real_dict(kind):
    """The dictionary behind `kind.__dict__`."""
    found = gc.get_referents(dict_of(kind))
    return found[0] if len(found) == 1 and type(found[0]) is dict else dict_of(kind)


def plain_function(value):
    """The Python function in a method, a property or the like."""
    for _ in range(8):
        kind = type(value)
        if kind is FUNCTION:
            return value
        if kind is METHOD or kind is staticmethod or kind is classmethod:
            value = value.__func__
        elif kind is property:
            value = value.fget
        elif kind is functools.partial:
            value = value.func
        else:
            return None
    return None


def getter_of_some(keys):
    """Fetches names that may be gone."""
    return lambda mapping: tuple([mapping.get(key, GONE) for key in keys])


class Places:
    """Names in dictionaries, of modules and of classes, and what stands under them."""

    def __init__(self):
        self.rows, self.grown = [], []

    def add(self, area, holder, mapping, names):
        names = [name for name in names if name in mapping]
        if names:
            keys = names if len(names) > 1 else names * 2
            getter = operator.itemgetter(*keys)
            now = getter(mapping)
            # how to fetch them, from where, as they are now, and as they were at first
            self.rows.append([getter, mapping, now, now, area, holder, keys])

    def may_not_grow(self, area, holder, mapping, is_class):
        """A new name can hide one behind it: in a class a base's, in a module a built-in one."""
        self.grown.append([mapping, list(mapping), area, holder, is_class])

    def as_now(self):
        for row in self.rows:
            try:
                now = row[0](row[1])
            except KeyError:
                row[0] = getter_of_some(row[6])
                now = row[0](row[1])
            row[2] = row[3] = now
        for row in self.grown:
            row[1] = list(row[0])


class Functions:
    """The insides of functions."""

    def __init__(self):
        self.names, self.functions, self.inner, self.first, self.cells = [], [], [], [], []
        self.seen = set()

    def add(self, area, name, function):
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        self.names.append((area, name))
        inner = inner_of(function)
        self.first.extend(inner)
        self.inner.extend(inner)
        # last: a look of another thread goes by it
        self.functions.append(function)
        for cell in function.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue  # still empty
            # state that a closure keeps may change; what it calls does not
            if type(content) in CALLED:
                self.cells.append([cell, content, area, name])

    def as_now(self):
        self.inner = [part for function in self.functions for part in inner_of(function)]
        self.first = list(self.inner)


def watch_class(places, functions, area, holder, kind, module, deep=True, known=None, grows=True):
    """The functions of a class and, unless `deep` is false, of classes of the module in it."""
    mapping = real_dict(kind)
    names = []
    for name, value in list(mapping.items()):
        is_class = isinstance(value, type)
        if not is_class and type(value) not in WATCHED:
            continue
        names.append(name)
        parts = (value.fget, value.fset, value.fdel) if type(value) is property else (value,)
        for function in parts:
            function = plain_function(function)
            if function is not None:
                functions.add(area, holder + "." + name, function)
                if known is not None:
                    known.add(function)
        if is_class and deep and module_of(value) == module:
            watch_class(places, functions, area, holder + "." + name, value, module, False, known, grows)
    places.add(area, holder, mapping, names)
    if not grows:
        places.may_not_grow(area, holder, mapping, True)
