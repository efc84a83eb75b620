"""For probes: results as exact built-in and array types, before they are compared.

    from infradev_probe import plain
    assert plain(result) == [1, 2.0, None]

Code under test may return objects that equal everything. `plain` gives back what they are made of:
None, bool, int, float, complex, str, bytes, list, tuple, set, frozenset and dict are rebuilt by
the base classes' own methods, instances of subclasses become the base class; numpy arrays and
scalars are copied from their buffers, torch tensors are detached and copied to the CPU. Everything
else is a TypeError that names the type and the place. References in circles are one, too.

The methods used here are bound before the work tree is on the module path.
"""

import builtins

# functions keep the built-in names that they were made with: these are ours alone
__builtins__ = dict(vars(builtins))

import sys  # noqa: E402

__all__ = ["plain"]

DEEPEST = 200
HEAP = 1 << 9

_mro = type.__dict__["__mro__"].__get__
_flags = type.__dict__["__flags__"].__get__
_dict = type.__dict__["__dict__"].__get__
_name = type.__dict__["__qualname__"].__get__
_int, _float = int.__int__, float.__float__
_real, _imag = complex.__dict__["real"].__get__, complex.__dict__["imag"].__get__
_text, _bytes = str.__str__, bytes.__getitem__
_list, _tuple, _set, _frozen = list.__iter__, tuple.__iter__, set.__iter__, frozenset.__iter__
_items = dict.items
_whole = slice(None)
# of compiled classes what they are built as, of others what they say
_module = type.__dict__["__module__"].__get__


def _base(kind, wanted):
    """Whether `wanted` is `kind` or what it derives from, whatever `isinstance` is told."""
    return any([one is wanted for one in _mro(kind)])


def _compiled(kind, module, names):
    """The class of a compiled library that `kind` is or derives from: no class made in Python can
    pass for one."""
    for one in _mro(kind):
        if _flags(one) & HEAP == 0 and _name(one) in names and _module(one).split(".")[0] == module:
            return one
    return None


def _array(value, own, place, kind):
    """An array or scalar of numpy: from its bytes, by the methods of the compiled class."""
    methods = _dict(own)
    dtype = methods["dtype"].__get__(value)
    if dtype.kind not in "biufcSUmM":
        raise TypeError("%s: a numpy %s of dtype %s is not compared plainly" % (place, _name(kind), dtype))
    shape = methods["shape"].__get__(value)
    data = methods["tobytes"](value)
    if _name(own) == "ndarray":
        return own(shape, dtype, bytearray(data)) if data else own(shape, dtype)
    arrays = sys.modules["numpy"].ndarray
    if _compiled(arrays, "numpy", ("ndarray",)) is not arrays:
        raise TypeError("%s: numpy.ndarray is not numpy's" % place)
    return _dict(arrays)["item"](arrays((), dtype, data))


def _own(module, name):
    """A class of a compiled library by its name, whatever else stands there now; or None."""
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if not _base(type(found), type) or _flags(found) & HEAP:
        return None
    return found if _name(found) == name and _module(found).split(".")[0] == module.split(".")[0] else None


class _Quiet:
    """While it lasts, torch asks no class and no mode written in Python what its methods do."""

    def __enter__(self):
        # the first one is for modes as well, the second is what there is of its kind since 1.4
        own = _own("torch._C", "DisableTorchFunction") or _own("torch._C", "DisableTorchFunctionSubclass")
        if own is None:
            raise TypeError("torch: torch._C.DisableTorchFunction is not torch's")
        self.guard, self.leave = own(), _dict(own)["__exit__"]
        _dict(own)["__enter__"](self.guard)

    def __exit__(self, *error):
        self.leave(self.guard, *error)


def tensors():
    """The class of every tensor that torch itself makes, or None: its name can be given to another."""
    makers = _own("torch._C", "_VariableFunctionsClass")
    if makers is None:
        return None
    with _Quiet():
        return type(_dict(makers)["empty"].__get__(None, makers)((0,)))


def _tensor(value, place, kind):
    """A tensor of torch, on the CPU; its storage is nobody else's."""
    base = _compiled(kind, "torch", ("TensorBase", "_TensorBase"))
    if "torch" not in sys.modules or base is None:
        return None
    methods = _dict(base)
    own = tensors()
    # torch's own class, and what only marks it as a parameter
    line = _mro(kind)[1:]
    marked = own is not None and _marks(kind) and len(line) == len(_mro(own))
    if kind is not own and not (marked and all([a is b for a, b in zip(line, _mro(own))])):
        raise TypeError("%s: a tensor of the class %s.%s" % (place, _module(kind), _name(kind)))
    count = vars(sys.modules["torch._C"]).get("_len_torch_dispatch_stack")
    if type(count) is type(len) and count() > 0:
        raise TypeError("%s: a tensor while a dispatch mode is on" % place)
    with _Quiet():
        return methods["clone"](methods["cpu"](methods["detach"](value)))


def _marks(kind):
    """Whether a class, as torch's Parameter, has torch treat its instances as plain tensors."""
    own = _dict(kind)
    return "__torch_dispatch__" not in own and type(own.get("__torch_function__")) is type(len)


def plain(value):
    """`value` as exact built-in and array types. TypeError: it holds something else."""
    return _plain(value, "the value", 0, ())


def _plain(value, place, depth, above):
    kind = type(value)
    if value is None or kind is bool:
        return value
    if depth > DEEPEST:
        raise TypeError("%s: nested deeper than %d" % (place, DEEPEST))
    if _base(kind, int):
        return _int(value)
    # numpy's float64 derives from float, its str_ from str: they are numbers and texts all the same
    if _base(kind, float):
        return _float(value)
    if _base(kind, complex):
        return complex(_real(value), _imag(value))
    if _base(kind, str):
        return _text(value)
    if _base(kind, bytes):
        return _bytes(value, _whole)
    if id(value) in above:
        raise TypeError("%s: refers to itself" % place)
    above = above + (id(value),)
    if _base(kind, list):
        return [_plain(one, "%s[%d]" % (place, at), depth + 1, above) for at, one in enumerate(_list(value))]
    if _base(kind, tuple):
        return tuple([_plain(one, "%s[%d]" % (place, at), depth + 1, above) for at, one in enumerate(_tuple(value))])
    for base, each, make in ((set, _set, set), (frozenset, _frozen, frozenset)):
        if _base(kind, base):
            found = [_plain(one, place + "{…}", depth + 1, above) for one in each(value)]
            made = make(found)
            if len(made) != len(found):
                raise TypeError("%s: elements that are equal once they are plain" % place)
            return made
    if _base(kind, dict):
        made = {}
        for key, one in _items(value):
            key = _plain(key, place + " (a key)", depth + 1, above)
            if key in made:
                raise TypeError("%s: keys that are equal once they are plain" % place)
            made[key] = _plain(one, "%s[%r]" % (place, key), depth + 1, above)
        return made
    own = _compiled(kind, "numpy", ("ndarray", "generic"))
    if own is not None:
        return _array(value, own, place, kind)
    tensor = _tensor(value, place, kind)
    if tensor is not None:
        return tensor
    raise TypeError("%s: %s.%s is no plain type" % (place, _module(kind), _name(kind)))
