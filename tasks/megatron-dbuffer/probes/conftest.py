"""One process group for all probes, on GPUs or on CPUs, and meshes over all its ranks."""

import os
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

from probes.support import Ranks


@pytest.fixture(scope="session")
def world():
    """The store is ours, so that ranks can be lined up without a collective."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    limit = timedelta(seconds=40)
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    store = dist.TCPStore(address, port, size, is_master=rank == 0, timeout=limit)
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=dist.PrefixStore("group", store),
        rank=rank,
        world_size=size,
        timeout=limit,
    )
    shapes = [(size,), (1, size), (size, 1)]
    if size >= 4 and size % 2 == 0:
        shapes.append((2, size // 2))
    meshes = {shape: init_device_mesh(device.type, shape) for shape in shapes}
    return Ranks(rank, size, device, meshes, dist.PrefixStore("line", store))


@pytest.fixture
def ranks(world, request):
    """All ranks begin and end a case together: one that failed early waits here, not in a collective
    of the next case."""
    world.line_up(request.node.nodeid + " begins")
    yield world
    world.line_up(request.node.nodeid + " ends")
