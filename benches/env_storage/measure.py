"""Shared environments against one image a task, from cold: disk and build time. Run by hand.

    python3 benches/env_storage/measure.py [--binary target/release/infradev] [--sets real,near,low]
    python3 benches/env_storage/measure.py lock --uv PATH     # makes locks/*.txt from inputs.toml

Needs docker with the base image, root (to read the engine's layers), and a package index.
What is measured, and how: benches/README.md.
"""

import argparse
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LOCKS = HERE / "locks"
BASE = "infradev/base:cpu"
CA = "/etc/ssl/certs/ca-certificates.crt"
UV = "uv>=0.5"  # as infradev installs it
STORAGE_GOAL, TIME_GOAL = 0.43, 0.80
MINE = f"infradev-bench-{os.getpid()}"
PATCH = "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1,2 @@\n A = 1\n+B = 2\n"
TASK = """schema = 1
id = "{id}"
title = "t"
area = "training"
kind = "feature"
repository = "bench/{id}"
[source]
base = "base"
[gold]
patch = "gold.patch"
[environment]
kind = "uv"
requirements = "requirements.lock"
[suites.official]
from = "official"
into = "tests"
"""


def call(*argv, check=True, **more):
    done = subprocess.run(
        [str(a) for a in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, **more
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, argv))[:300]}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.strip()


def lock(uv):
    for name, given in tomllib.loads((LOCKS / "inputs.toml").read_text()).items():
        wanted = "\n".join([*given["requirements"], "pytest"])
        locked = subprocess.run(
            [uv, "pip", "compile", "--quiet", "--system-certs", "--generate-hashes", "--no-header"]
            + ["--no-annotate", "--no-emit-index-url", "--only-binary", ":all:", "--no-cache"]
            + ["--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28"]
            + ["--override", LOCKS / "overrides.txt", "--exclude-newer", given["newest"], "-"],
            input=wanted, capture_output=True, text=True,
        )
        if locked.returncode:
            raise SystemExit(f"{name}: {locked.stderr}")
        (LOCKS / f"{name}.txt").write_text(locked.stdout)
        print(name, len(packages(LOCKS / f"{name}.txt")))


def packages(path):
    """`name==version`s of a lock."""
    lines = path.read_text().splitlines()
    return {line.split()[0] for line in lines if "==" in line and line[0].isalnum()}


def client():
    """The host's index, certificates and pip settings, as arguments of `docker run`."""
    args = ["--network", "host", "-v", f"{CA}:{CA}:ro", "-e", f"SSL_CERT_FILE={CA}"]
    if os.path.exists("/etc/pip.conf"):
        args += ["-v", "/etc/pip.conf:/etc/pip.conf:ro"]
    for name, value in os.environ.items():
        if not name.startswith("PIP_"):
            continue
        if value.startswith("/") and name != "PIP_CERT":
            if not os.path.exists(value):
                continue
            args += ["-v", f"{value}:{value}:ro"]
        args += ["-e", name]
    for pip, uv in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_EXTRA_INDEX_URL", "UV_INDEX")):
        if os.environ.get(pip):
            args += ["-e", f"{uv}={os.environ[pip]}"]
    return args


class Images:
    """Images of ours; gone, with their containers, when it is closed, or before."""

    def __init__(self):
        self.made = []
        # by layer, of all images that were weighed
        self.bytes = {}

    def make(self, base, name, script, *args):
        """From cold to an image; the seconds that it took."""
        container, image = f"{MINE}-{name}", f"{MINE}:{name}"
        self.made.append((container, image))
        begun = time.monotonic()
        call("docker", "run", "--name", container, *client(), *args, base, "sh", "-euc", script)
        call("docker", "commit", container, image)
        took = time.monotonic() - begun
        call("docker", "rm", container)
        return image, took

    def weigh(self, image, known=(BASE,)):
        """What the image adds to those that are known; a layer that several have is counted once."""
        added = layers(image).difference(*map(layers, known))
        self.bytes |= {layer: du(os.path.realpath(layer)) for layer in added}
        return sum(self.bytes[layer] for layer in added)

    def drop(self, image):
        """Weighed, it may go: all of them together would fill the disk."""
        call("docker", "rmi", "-f", image)
        self.made = [one for one in self.made if one[1] != image]

    def close(self):
        for container, image in reversed(self.made):
            call("docker", "rm", "-f", container, check=False)
            call("docker", "rmi", "-f", image, check=False)


def layers(image):
    """Folders of an image's layers in the engine's store."""
    data = json.loads(call("docker", "image", "inspect", image))[0]["GraphDriver"]["Data"]
    return frozenset({data["UpperDir"], *filter(None, data.get("LowerDir", "").split(":"))})


def du(*paths):
    """Bytes allocated, each inode once."""
    out = call("du", "-s", "-c", "--block-size=1", *paths) if paths else "0"
    return int(out.splitlines()[-1].split()[0])


def task(tasks, name, lock):
    folder = tasks / name
    for part in ("base", "official"):
        (folder / part).mkdir(parents=True)
    shutil.copy(lock, folder / "requirements.lock")
    (folder / "base/calc.py").write_text("A = 1\n")
    (folder / "gold.patch").write_text(PATCH)
    (folder / "prompt.md").write_text("Add B.\n")
    (folder / "official/test_b.py").write_text("import calc\n\ndef test_b():\n    assert calc.B == 2\n")
    (folder / "task.toml").write_text(TASK.format(id=name))


def prepared(home):
    """Of the newest run: seconds from the choice of the engine until its environment was there."""
    journal = max((home / "runs").glob("*/journal.jsonl"), key=lambda p: p.stat().st_mtime)
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    at = {}
    for event in events:
        at.setdefault(event["event"], event["at_s"])
    if "environment_ready" not in at:
        raise SystemExit(f"no environment: {events[-3:]}")
    return at["environment_ready"] - at["engine_chosen"]


def mine(home):
    """What infradev keeps for environments, uv itself included."""
    return du(*(p for p in (home / "env", home / "cache", home / "tools") if p.exists()))


def bytecode(home):
    """Of all environments: sources that have bytecode, how many there are by place and content, how
    many inodes hold their bytecode; its bytes, each inode once, and as copies."""
    every, distinct, inodes, copies = 0, set(), {}, 0
    for site in (home / "env").glob("*/venv/lib/*/site-packages"):
        for compiled in site.rglob("*.pyc"):
            source = compiled.parent.parent / f"{compiled.name.split('.')[0]}.py"
            if compiled.parent.name != "__pycache__" or not source.exists():
                continue
            stat = compiled.stat()
            every += 1
            copies += stat.st_blocks * 512
            inodes[stat.st_ino] = stat.st_blocks * 512
            content = hashlib.sha256(source.read_bytes()).digest()
            distinct.add((source.relative_to(site), content))
    return every, len(distinct), len(inodes), sum(inodes.values()), copies


def twice(home):
    """Bytes of files whose content another inode has as well: what could still be shared."""
    sizes = {}
    for part in ("env", "cache"):
        for folder, _, names in os.walk(home / part):
            for path in (os.path.join(folder, name) for name in names):
                stat = os.lstat(path)
                if not os.path.islink(path) and stat.st_size:
                    sizes.setdefault(stat.st_size, {})[stat.st_ino] = (path, stat.st_blocks * 512)
    total = 0
    for inodes in sizes.values():
        contents = set()
        for path, taken in inodes.values() if len(inodes) > 1 else ():
            with open(path, "rb") as file:
                content = hashlib.file_digest(file, "sha256").digest()
            total += taken if content in contents else 0
            contents.add(content)
    return total


def measure(kind, work, binary):
    locks = sorted(LOCKS.glob(f"{kind}-*.txt"))
    names = {lock: packages(lock) for lock in locks}
    pairs = [len(a & b) / len(a | b) for a, b in itertools.combinations(names.values(), 2)]
    distinct = len(set().union(*names.values()))
    print(f"\n{kind}: {len(locks)} locks of {min(map(len, names.values()))} to "
          f"{max(map(len, names.values()))} packages, {distinct} distinct of "
          f"{sum(map(len, names.values()))}; pairwise overlap (same version, of the union) "
          f"{min(pairs):.0%} to {max(pairs):.0%}, mean {sum(pairs) / len(pairs):.0%}", flush=True)
    cache, home, tasks = (work / kind / part for part in ("cache", "home", "tasks"))
    for folder in (cache, home, tasks):
        folder.mkdir(parents=True)
        folder.chmod(0o755)
    images = Images()
    engine = {"naive": 0, "careful": 0}
    seconds = {"naive": 0.0, "careful": 0.0, "infradev": 0.0}
    try:
        shared, took = images.make(
            BASE, f"{kind}-uv", f"python3 -m venv /opt/uv && /opt/uv/bin/pip install -q --no-cache-dir '{UV}'"
        )
        seconds["careful"] += took
        engine["careful"] += images.weigh(shared)
        print(f"  shared layer with uv {took:.1f} s", flush=True)
        for number, lock in enumerate(locks):
            def by_pip():
                image, took = images.make(
                    BASE, f"{lock.stem}-naive",
                    "python3 -m venv /opt/venv && /opt/venv/bin/pip install -q --no-cache-dir"
                    " --no-deps --require-hashes -r /mnt/lock.txt",
                    "-v", f"{lock}:/mnt/lock.txt:ro")
                engine["naive"] += images.weigh(image)
                images.drop(image)
                return "naive", took

            def by_uv():
                image, took = images.make(
                    shared, f"{lock.stem}-careful",
                    "/opt/uv/bin/uv venv -q /opt/venv && /opt/uv/bin/uv pip sync -q --require-hashes"
                    " --compile-bytecode --link-mode copy --python /opt/venv/bin/python /mnt/lock.txt",
                    "-v", f"{lock}:/mnt/lock.txt:ro", "-v", f"{cache}:/mnt/cache",
                    "-e", "UV_CACHE_DIR=/mnt/cache")
                engine["careful"] += images.weigh(image, (BASE, shared))
                images.drop(image)
                return "careful", took

            def ours():
                task(tasks, lock.stem, lock)
                begun = time.monotonic()
                call(binary, "--home", home, "--tasks", tasks, "grade", lock.stem, "--base",
                     "--suite", "official", "--engine", "docker", "--json", check=False,
                     env=without_uv())
                whole.append(time.monotonic() - begun)
                return "infradev", prepared(home)

            whole = []
            # in turn, so that a busy machine is busy for all
            ways = [by_pip, by_uv, ours]
            shown = [way() for way in ways[number % 3:] + ways[:number % 3]]
            for method, took in shown:
                seconds[method] += took
            print(f"  {lock.stem}: " + ", ".join(f"{m} {s:.1f} s" for m, s in shown)
                  + f" (the whole grade {whole[0]:.1f} s); so far naive {mb(engine['naive'])}, "
                  f"careful {mb(engine['careful'])}, infradev {mb(mine(home))}", flush=True)
        listed = json.loads(call(binary, "--home", home, "--tasks", tasks, "env", "list", "--json"))
        rows = [row for row in listed["environments"] if row["state"] == "ready"]
        assert len(rows) == len(locks), listed
        built = sum(row["build_s"] for row in rows)
        downloads = du(cache)
        bytes_ = {
            "naive": engine["naive"],
            "careful": engine["careful"] + downloads,
            "infradev": mine(home),
        }
        sources, in_pool, stamps, apart, copies = bytecode(home)
        print(f"  careful: layers {mb(engine['careful'])}, cache {mb(downloads)}; "
              f"infradev: env {mb(du(home / 'env'))}, cache besides "
              f"{mb(bytes_['infradev'] - du(home / 'env'))}, builds alone {built:.1f} s; bytecode of "
              f"{sources} files, {in_pool} distinct, is {stamps} inodes, {mb(apart)} of {mb(copies)}; "
              f"equal files that are still apart {mb(twice(home))}")
        print(f"\n| {kind} | disk | of naive | build time | of naive |\n| --- | --- | --- | --- | --- |")
        for method in seconds:
            print(f"| {method} | {mb(bytes_[method])} | {bytes_[method] / bytes_['naive']:.0%} | "
                  f"{seconds[method]:.0f} s | {seconds[method] / seconds['naive']:.0%} |")
        for what, of, goal in (("disk", bytes_, STORAGE_GOAL), ("time", seconds, TIME_GOAL)):
            ratio = of["infradev"] / of["naive"]
            print(f"goal {what} at most {goal:.0%} of naive: {ratio:.1%}, {'met' if ratio <= goal else 'MISSED'}")
    finally:
        images.close()
        shutil.rmtree(work / kind, ignore_errors=True)


def mb(count):
    return f"{count / 1e6:.0f} MB"


def without_uv():
    """From cold: uv is fetched too, as the careful baseline fetches it."""
    folders = [p for p in os.environ["PATH"].split(":") if not os.path.exists(f"{p}/uv")]
    return os.environ | {"PATH": ":".join(folders)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="?", choices=("measure", "lock"), default="measure")
    parser.add_argument("--uv", default="uv")
    parser.add_argument("--binary", default=HERE.parents[1] / "target/release/infradev")
    parser.add_argument("--sets", default="real,near,low")
    asked = parser.parse_args()
    if asked.what == "lock":
        return lock(asked.uv)
    # stopped from outside: what was made still goes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = pathlib.Path(tempfile.mkdtemp(prefix="infradev-bench-"))
    work.chmod(0o755)
    try:
        for kind in asked.sets.split(","):
            measure(kind, work, asked.binary)
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
