"""The trainer and the loop with sync_mode="delta", beside the same with "full"."""

import numpy as np
import pytest
from probekit import Link, Sent, check_cost, plain

import reinlet
from reinlet.config import LoopConfig, PolicySpec, TrainerConfig
from reinlet.env import ZipfBandit
from reinlet.loop import run
from reinlet.policy import init_policy
from reinlet.rollout import RolloutWorker
from reinlet.sync import FullSync, make_sync
from reinlet.trainer import Trainer

SPEC = PolicySpec(n_states=600, dim=8, hidden=12, n_actions=5)


def loop(mode, optimizer):
    link = Link()
    config = LoopConfig(
        policy=SPEC,
        trainer=TrainerConfig(sync_mode=mode, optimizer=optimizer, lr=0.05, batch_size=32),
        n_workers=2,
        steps_per_worker=40,
        iterations=8,
        seed=5,
    )
    result = run(config, transport=link)
    return {
        "rewards": [float(r) for r in result.rewards],
        "trainer": plain(result.trainer.store.snapshot()),
        "workers": [(plain(w.weights()), int(w.version)) for w in result.workers],
        "versions": [int(r.version) for r in result.reports],
        "delivered": [tuple(map(str, r.delivered)) for r in result.reports],
    }, sum(e["bytes"] for e in link.log), sum(e["entries"] for e in link.log)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_loop_learns_the_same_and_sends_less(optimizer):
    full, full_bytes, full_entries = loop("full", optimizer)
    delta, delta_bytes, delta_entries = loop("delta", optimizer)
    for what in full:
        same = delta[what] == full[what]
        assert same, f"{what}: not as with the full sync"
    same = delta["workers"][0][0] == delta["trainer"]
    assert same, "a worker has other weights than the trainer"
    # nine publications, of which one is full; of the others most of the table, which is 94 % of the
    # entries and 87 % of the bytes, stays: even with everything else sent each time, less than half
    assert delta_entries < 0.5 * full_entries
    assert delta_bytes < 0.5 * full_bytes


def test_each_publication_of_a_trainer():
    link = Link()
    trainer = Trainer(init_policy(SPEC, 1), link, TrainerConfig(sync_mode="delta", lr=0.02))
    workers = [RolloutWorker(f"w{i}", link, ZipfBandit(600, 5, seed=i), seed=i) for i in range(2)]
    trainer.connect("w0", "w1")
    before = {}
    for _ in range(6):
        start = len(link.log)
        report = trainer.publish()
        sent = Sent(report, link.log[start:])
        after = plain(trainer.store.snapshot())
        for w in workers:
            assert sent.delivered(w.name)
            same = (plain(w.weights()), int(w.version)) == (after, int(trainer.version))
            assert same, f"{w.name} has other weights than the trainer"
            check_cost(sent, w.name, before, after)
        before = after
        for w in workers:
            trainer.buffer.add(w.collect(20))
        assert trainer.update() is not None


def test_going_back_to_a_checkpoint_repeats_versions(tmp_path):
    link = Link()
    config = TrainerConfig(sync_mode="delta", lr=0.05)
    trainer = Trainer(init_policy(SPEC, 2), link, config)
    worker = RolloutWorker("w0", link, ZipfBandit(600, 5, seed=3))
    other = RolloutWorker("w1", link, ZipfBandit(600, 5, seed=4))
    trainer.connect("w0", "w1")

    def publish_and_check(to=(worker, other)):
        trainer.publish()
        want = plain(trainer.store.snapshot()), int(trainer.version)
        for w in to:
            same = (plain(w.weights()), int(w.version)) == want
            assert same, f"{w.name} has other weights than the trainer"

    def learn():
        trainer.buffer.add(worker.collect(16))
        assert trainer.update() is not None

    publish_and_check()
    learn()
    path = str(tmp_path / "c.npz")
    trainer.save(path)
    publish_and_check()
    for _ in range(2):
        learn()
        publish_and_check()
    for lost in (False, True):
        trainer.restore(path)
        if not lost:
            publish_and_check()  # back to the older weights and the older number
        else:
            other.restart()
        learn()
        publish_and_check()
        learn()
        assert int(trainer.version) == 3
        link.fault = (lambda i, name, frame: "reply lost" if name == "w0" else None) if lost else None
        publish_and_check((other,))
        link.fault = None
        publish_and_check()  # version 3 for the second time, other weights than the first
    # straight from one state of the number 3 to another
    trainer.restore(path)
    learn()
    learn()
    publish_and_check()
    trainer.restore(path)
    trainer.store["hidden.bias"][...] += 1
    trainer.store.touch()
    learn()
    learn()
    assert int(trainer.version) == 3
    publish_and_check()


def test_knobs():
    assert str(TrainerConfig().sync_mode) == "full"
    assert type(Trainer(init_policy(SPEC), Link()).sync) is FullSync
    made = make_sync("delta", init_policy(SPEC), Link())
    assert isinstance(made, reinlet.sync.DeltaSync)
    assert reinlet.DeltaSync is reinlet.sync.DeltaSync
    trainer = Trainer(init_policy(SPEC), Link(), TrainerConfig(sync_mode="delta"))
    assert isinstance(trainer.sync, reinlet.DeltaSync)
    with pytest.raises(ValueError):
        TrainerConfig(sync_mode="sometimes")
    with pytest.raises(ValueError):
        make_sync("sometimes", init_policy(SPEC), Link())
    # and it is usable
    link = Link()
    worker = RolloutWorker("w", link)
    store = init_policy(SPEC)
    made = make_sync("delta", store, link)
    made.add_worker("w")
    for version in range(2):
        store["hidden.bias"][version] = 1 + version
        assert np.array_equal([bool(r.delivered) for r in made.sync(version).results.values()], [True])
        same = plain(worker.weights()) == plain(store.snapshot())
        assert same, "the worker has other weights than the store"
