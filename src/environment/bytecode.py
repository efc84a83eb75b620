# Compiles the packages below the folder that it is given, so that equal sources at equal places give
# equal bytecode in every environment: no path of this environment in it (the import system puts the
# real one in when it loads a module), no times (nobody writes to a sealed tree), no random order.
import sys

# the folder that it was started in, which may hold anything
del sys.path[0]

import os
import py_compile
import traceback
import warnings

MODE = py_compile.PycInvalidationMode.UNCHECKED_HASH


def sources(root):
    """Paths and their sizes; nothing behind a link."""
    for folder, _, names in os.walk(root):
        if os.path.islink(os.path.join(folder, "__pycache__")):
            continue
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".py") and not os.path.islink(path):
                yield os.path.getsize(path), path


def compile_each(root, paths):
    for path in paths:
        try:
            # in a new file, never in one that has links elsewhere
            py_compile.compile(
                path, dfile=os.path.relpath(path, root), doraise=True, invalidation_mode=MODE
            )
        except (py_compile.PyCompileError, FileExistsError):
            # templates, and code for other versions; something else is there in its place
            pass


def main(root):
    warnings.simplefilter("ignore")
    # the large ones first, so that all end at about the same time
    paths = [path for _, path in sorted(sources(root), reverse=True)]
    workers = max(1, min(len(os.sched_getaffinity(0)), len(paths) // 16))
    children = []
    for first in range(workers):
        child = os.fork()
        if child:
            children.append(child)
            continue
        status = 1
        try:
            compile_each(root, paths[first::workers])
            status = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(status)
    ended = [os.waitpid(child, 0)[1] for child in children]
    if any(ended):
        sys.exit("a compiler ended with the wait status %s" % max(ended))


main(sys.argv[1])
