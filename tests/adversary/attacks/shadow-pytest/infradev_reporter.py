def prepare(line, options):
    for kind in ("hello", "collected", "end"):
        line.send(kind, code=0)
