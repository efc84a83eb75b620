//! Two ranks on two GPUs, over NCCL in a network that has loopback alone.

use super::node::{Node, alone, uuids};

const GOLD: &str = "\
import torch
import torch.distributed as dist


def total(rank):
    value = torch.full((1 << 20,), rank + 1.0, device=f'cuda:{rank}')
    dist.all_reduce(value)
    return value[-1].item()


def meet(rank):
    return total(rank)
";

/// The second rank does not come: the first waits in the collective for ever.
const HANGS: &str = "\
import torch
import torch.distributed as dist


def total(rank):
    value = torch.full((1 << 20,), rank + 1.0, device=f'cuda:{rank}')
    dist.all_reduce(value)
    return value[-1].item()


def meet(rank):
    return 3.0 if rank == 1 else total(rank)
";

const TESTS: &str = "\
import os

import pytest
import torch
import torch.distributed as dist

import work

RANK = int(os.environ['RANK'])


@pytest.fixture(scope='session', autouse=True)
def group():
    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))
    dist.init_process_group('nccl')
    yield
    dist.destroy_process_group()


def test_two_gpus_and_no_more():
    assert torch.cuda.device_count() == 2


def test_reduce():
    assert work.total(RANK) == 3.0


def test_meet():
    assert work.meet(RANK) == 3.0


def test_after():
    assert work.total(RANK) == 3.0
";

#[test]
#[ignore = "needs two NVIDIA GPUs and a python3 with PyTorch"]
fn a_hang_in_a_collective_ends_at_its_limit_with_the_rank_named() {
    let _alone = alone();
    assert!(uuids().len() >= 2, "this node has one GPU");
    let node = Node::new(2, GOLD, TESTS);
    let gold = node.gold();
    assert_eq!(gold.exit, 0, "{:#}", gold.grade);
    assert_eq!(gold.taken().len(), 2);
    gold.nothing_is_left();

    let hung = node.submission(HANGS);
    assert_eq!(hung.exit, 1);
    let case = hung.case("test_meet");
    assert_eq!(case["outcome"], "timeout", "{:#}", hung.grade);
    assert_eq!(case["ranks"][0]["rank"], 0);
    assert_eq!(case["ranks"][0]["outcome"], "timeout", "{case:#}");
    assert!(
        case["message"].as_str().unwrap().contains("rank 0"),
        "{case:#}"
    );
    hung.passed(&["test_two_gpus_and_no_more", "test_reduce", "test_after"]);
    hung.nothing_is_left();
}
