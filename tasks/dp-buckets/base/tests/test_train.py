import numpy as np

from tandem.data import ShardedBatches
from tandem.nn import Linear, MSELoss, Sequential, Tanh
from tandem.optim import SGD
from tandem.parallel import DataParallel
from tandem.train import Trainer


def problem():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((48, 3)).astype(np.float32)
    return x, np.tanh(x @ np.array([[1.0], [-2.0], [0.5]], dtype=np.float32))


def trainer_for(group, **options):
    rng = np.random.default_rng(6)
    model = DataParallel(Sequential(Linear(3, 6, rng=rng), Tanh(), Linear(6, 1, rng=rng)), group)
    return Trainer(model, SGD(model.parameters(), lr=0.2), MSELoss(), **options)


def test_loss_falls(group):
    x, y = problem()
    trainer = trainer_for(group)
    batches = ShardedBatches(x, y, 12, group.rank, group.world_size, seed=1)
    before = trainer.evaluate(x, y)
    for _ in range(8):
        trainer.run(batches)
    after = trainer.evaluate(x, y)
    assert after < before / 2
    assert trainer.updates == 8 * len(batches)


def test_ranks_stay_together(group):
    x, y = problem()
    trainer = trainer_for(group, max_norm=0.5)
    trainer.run(ShardedBatches(x, y, 8, group.rank, group.world_size))
    everywhere = [group.all_gather(p.data) for p in trainer.model.parameters()]
    assert all(np.array_equal(parts[0], part) for parts in everywhere for part in parts)


def test_losses_are_returned(group):
    x, y = problem()
    losses = trainer_for(group).run(ShardedBatches(x, y, 16, group.rank, group.world_size))
    assert len(losses) == 3 and all(np.isfinite(losses))
