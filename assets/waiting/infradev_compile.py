"""Imported by a rank that waits and will run no test: its order names Python files, of which it makes
the bytecode that Python, or pytest, would make when they import them. It runs none of them.

Options:
  nonce, worktree  as a runner's
  files            [source, name, folder, rewritten]: what is read, as which file of the work tree,
                   the folder that takes the bytecode, and whether pytest rewrites it; all relative
"""

import importlib.util
import os
import pathlib
from importlib._bootstrap_external import _code_to_timestamp_pyc

import _pytest.assertion.rewrite as rewrite
import infradev_reporter


def rewritten(path, folder):
    # without a configuration: none that asks for a hook on assertions that pass
    about, code = rewrite._rewrite_test(pathlib.Path(path), None)
    made = os.path.join(folder, os.path.basename(path)[:-3] + rewrite.PYC_TAIL)
    with open(made, "wb") as file:
        rewrite._write_pyc_fp(file, about, code)


def plain(source, path, folder):
    about = os.stat(source)
    with open(source, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    made = os.path.join(folder, os.path.basename(importlib.util.cache_from_source(path)))
    with open(made, "wb") as file:
        file.write(_code_to_timestamp_pyc(code, int(about.st_mtime), about.st_size))


def prepare(line, options):
    """In the place of the reporter's: the rank's work, and its end."""
    worktree = options["worktree"]
    for source, name, folder, by_pytest in options["files"]:
        source, name, folder = [os.path.join(worktree, path) for path in (source, name, folder)]
        try:
            os.makedirs(folder)
            if by_pytest:
                rewritten(name, folder)
            else:
                plain(source, name, folder)
        except Exception:
            pass  # whoever imports it says what is wrong
    line.send("compiled")
    os._exit(0)


infradev_reporter.prepare = prepare
