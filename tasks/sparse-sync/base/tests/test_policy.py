import numpy as np

from reinlet.config import PolicySpec
from reinlet.optim import make_optimizer
from reinlet.params import from_bf16, to_bf16
from reinlet.policy import PolicyNetwork, init_policy

SPEC = PolicySpec(n_states=20, dim=4, hidden=6, n_actions=3)


def test_shapes_and_dtypes():
    store = init_policy(SPEC)
    assert store["table"].dtype == np.uint16
    assert store["temperature"].shape == ()
    assert PolicyNetwork(store).logits([0, 1, 2]).shape == (3, 3)


def test_masked_actions_are_never_taken():
    store = init_policy(SPEC)
    store["head.mask"][1] = False
    actions, _ = PolicyNetwork(store).act(np.zeros(200, np.int64), np.random.default_rng(0))
    assert 1 not in actions.tolist()


def test_table_follows_touch():
    store = init_policy(SPEC)
    net = PolicyNetwork(store)
    before = net.logits([5]).copy()
    store["table"][5] = to_bf16(from_bf16(store["table"][5]) + 1.0)
    store.touch()
    assert not np.array_equal(net.logits([5]), before)


def test_gradient_against_differences():
    store = init_policy(SPEC, seed=3)
    net = PolicyNetwork(store)
    states, actions = np.array([1, 4, 4, 9]), np.array([0, 2, 1, 1])
    adv = np.array([1.0, -0.5, 0.3, 2.0], np.float32)
    grads, _ = net.gradients(states, actions, adv, 0.01)
    w, eps = store["hidden.weight"], np.float32(1e-2)
    for at in ((0, 0), (2, 3)):
        keep = w[at]
        w[at] = keep + eps
        up = net.gradients(states, actions, adv, 0.01)[1]
        w[at] = keep - eps
        down = net.gradients(states, actions, adv, 0.01)[1]
        w[at] = keep
        assert abs((up - down) / (2 * eps) - grads["hidden.weight"][at]) < 1e-3


def test_optimizer_writes_in_place_and_only_where_there_is_a_gradient():
    store = init_policy(SPEC)
    table = store["table"]
    before = table.copy()
    grad = np.zeros(table.shape, np.float32)
    grad[7] = 1.0
    make_optimizer("adam", store, 0.1).step({"table": grad})
    assert store["table"] is table
    assert np.array_equal(np.flatnonzero((table != before).any(axis=1)), [7])
    assert store["updates"] == 1
