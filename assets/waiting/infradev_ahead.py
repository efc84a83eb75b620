"""Imported by a rank that waits for its order: does what would cost every rank its first tenth of a
second and hangs on nothing that an order says. The file `modules` beside it names what is imported.

Nothing of a work tree has run by now, and nothing here looks at one. What is made here is what the
reporter would make later, out of the same modules; what it watches it still sees for the first time
when the order has come.
"""

import importlib
import os
import sys

import infradev_watch


def leave_the_path(here):
    """As if it had never been there, for whoever looks at the path from now on."""
    sys.path[:] = [entry for entry in sys.path if entry != here]
    sys.path_importer_cache.pop(here, None)
    left = [entry for entry in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if entry != here]
    if any(left):
        os.environ["PYTHONPATH"] = os.pathsep.join(left)


def load(here):
    with open(os.path.join(here, "modules")) as file:
        names = file.read().split()
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:
            pass  # whoever wants it is told


def shipped():
    """The first one that the reporter asks for is there already."""
    original = infradev_watch.Shipped
    made = original()

    def once():
        infradev_watch.Shipped = original
        return made

    infradev_watch.Shipped = once


def compared():
    """The same for what tests compare with; how it is then, is looked at then."""
    original = infradev_watch.Compared
    made = original()

    def once():
        infradev_watch.Compared = original
        made.as_now()
        return made

    infradev_watch.Compared = once


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    leave_the_path(here)
    load(here)
    shipped()
    compared()


main()
