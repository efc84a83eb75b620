"""What worked before: the full sync, on the probes' own link."""

import numpy as np
from probekit import Link, bump, plain, sample

from reinlet.params import ParamStore
from reinlet.rollout import RolloutWorker
from reinlet.sync import FullSync


def test_full_sync_is_as_it_was():
    arrays, link = sample(1), Link()
    store = ParamStore(arrays)
    workers = [RolloutWorker(f"w{i}", link) for i in range(2)]
    sync = FullSync(store, link)
    for w in workers:
        sync.add_worker(w.name)
    costs = []
    for version in range(4):
        bump(arrays["w32"], (version, 0))
        start = len(link.log)
        link.fault = (lambda i, name, frame: frame[:-1] if name == "w0" else None) if version == 2 else None
        old = plain(workers[0].weights())
        report = sync.sync(version)
        log = link.log[start:]
        assert [e["name"] for e in log] == ["w0", "w1"]
        assert all(e["entries"] == sum(a.size for a in arrays.values()) for e in log)
        for w in workers:
            ok = not (version == 2 and w is workers[0])
            assert bool(report.results[w.name].delivered) == ok
            assert plain(w.weights()) == (plain(arrays) if ok else old)
            assert int(w.version) == (version if ok else version - 1)
        costs.append(log[1]["bytes"])
    assert len(set(costs)) == 1
    arrays["w16"][...] = np.nan
    sync.sync(9)
    assert plain(workers[1].weights()) == plain(arrays)
