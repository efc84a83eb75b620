# Prints what infradev wants to know about the interpreter that runs this, as one JSON document.
# With the argument "packages" also what is installed. Must run on any python 3.
import json
import os
import platform
import sys
import sysconfig


def libraries():
    """Shared libraries behind the extension modules that a test run is likely to load."""
    for name in ("_ssl", "_hashlib", "_ctypes", "_sqlite3", "_bz2", "_lzma", "zlib", "readline"):
        try:
            __import__(name)
        except Exception:
            pass
    found = set()
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                if ".so" in path:
                    found.add("/" + path)
    except OSError:
        pass
    return sorted(found)


def packages():
    from importlib import metadata

    found = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name and name not in found:
            found[name] = distribution.version or ""
    return [{"name": name, "version": found[name]} for name in sorted(found)]


def importable(name):
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False


facts = {
    "executable": sys.executable,
    "base_executable": getattr(sys, "_base_executable", None) or sys.executable,
    "prefix": sys.prefix,
    "base_prefix": sys.base_prefix,
    "base_exec_prefix": sys.base_exec_prefix,
    "implementation": sys.implementation.name,
    "version": platform.python_version(),
    "abi": sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag or "",
    "platform": sysconfig.get_platform(),
    "libc": "-".join(platform.libc_ver()),
    "libraries": libraries(),
}
if sys.argv[1:] == ["packages"]:
    import site

    facts["path"] = [p for p in sys.path if p and os.path.exists(p)]
    facts["user_base"] = site.getuserbase() if site.ENABLE_USER_SITE else None
    facts["packages"] = packages()
    facts["pytest"] = importable("pytest")
print(json.dumps(facts))
