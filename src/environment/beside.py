# Prints, as one JSON document, the names of all entries of this file system with one of these ends
# (parted by blanks), and the folders that are packages of the given names ("a", "a/b").
# Must run on any python 3.
import json
import os
import sys

ends, names = tuple(sys.argv[1].split()), sys.argv[2:]
entries, modules = set(), []
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
    told = [name for name in folders + files if name.endswith(ends)]
    entries.update(told)
    if told or os.path.basename(folder) in ("site-packages", "dist-packages"):
        for name in names:
            module = os.path.join(folder, *name.split("/"))
            if os.path.exists(os.path.join(module, "__init__.py")):
                modules.append(module)
print(json.dumps({"entries": sorted(entries), "modules": sorted(modules)}))
