//! One GPU of however many the node has.

use std::time::Duration;

use infradev::domain::Event;
use infradev::gpu::{Holder, Leases};

use super::node::{Node, alone, seen_computing, uuids};

const GOLD: &str = "\
import torch


def total(n):
    return torch.arange(n, device='cuda', dtype=torch.float64).sum().item()


def wait():
    torch.cuda.synchronize()
";

/// Never comes back, with 8 GiB in hand.
const HANGS: &str = "\
import torch


def total(n):
    return torch.arange(n, device='cuda', dtype=torch.float64).sum().item()


def wait():
    held = torch.empty(8 << 30, dtype=torch.uint8, device='cuda')
    while True:
        held.fill_(1)
        torch.cuda._sleep(1 << 30)
        torch.cuda.synchronize()
";

fn tests(uuid: &str) -> String {
    let uuid = uuid.trim_start_matches("GPU-");
    format!(
        "import ctypes\nimport glob\nimport re\n\nimport torch\n\nimport work\n\n\n\
         def test_only_the_leased_gpu_is_there():\n    \
         assert torch.cuda.device_count() == 1\n    \
         assert str(torch.cuda.get_device_properties(0).uuid) == '{uuid}'\n    \
         nvml = ctypes.CDLL('libnvidia-ml.so.1')\n    \
         assert nvml.nvmlInit_v2() == 0\n    \
         count = ctypes.c_uint()\n    \
         assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value == 1\n    \
         assert len([d for d in glob.glob('/dev/nvidia*') if re.search(r'nvidia\\d+$', d)]) == 1\n\n\n\
         def test_it_computes():\n    assert work.total(1000) == 499500.0\n\n\n\
         def test_wait():\n    work.wait()\n\n\n\
         def test_after():\n    assert work.total(10) == 45.0\n"
    )
}

#[test]
#[ignore = "needs an NVIDIA GPU and a python3 with PyTorch"]
fn cuda_works_in_the_sandbox_and_a_hang_leaves_nothing_on_the_gpu() {
    let _alone = alone();
    let node = Node::new(1, GOLD, &tests(&uuids()[0]));
    let gold = node.gold();
    assert_eq!(gold.exit, 0, "{:#}", gold.grade);
    assert_eq!(gold.grade["resolved_strict"], true);
    assert_eq!(gold.taken()[0].uuid, uuids()[0]);
    gold.nothing_is_left();

    let (hung, seen) = seen_computing(|| node.submission(HANGS));
    // else an empty list afterwards would say nothing
    assert!(seen, "the driver lists the processes that hang");
    assert_eq!(hung.exit, 1);
    assert_eq!(
        hung.case("test_wait")["outcome"],
        "timeout",
        "{:#}",
        hung.grade
    );
    hung.passed(&[
        "test_only_the_leased_gpu_is_there",
        "test_it_computes",
        "test_after",
    ]);
    hung.nothing_is_left();
}

/// Somebody else holds every GPU: the run says so and waits, and goes on when one is given back.
#[test]
#[ignore = "needs an NVIDIA GPU and a python3 with PyTorch"]
fn a_run_waits_for_a_leased_gpu() {
    let _alone = alone();
    let leases = Leases::open().unwrap();
    let holder = Holder {
        run: "somebody-elses".into(),
        pid: std::process::id(),
        user: "test".into(),
        host: "here".into(),
    };
    let all = uuids();
    let mut held: Vec<_> = all
        .iter()
        .map(|uuid| leases.acquire(uuid, &holder).unwrap())
        .collect();
    let last = held.pop().unwrap();
    let giver = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(4));
        drop(last);
    });
    // its own tests want the last GPU, which is the one that comes free
    let node = Node::new(1, GOLD, &tests(all.last().unwrap()));
    let gold = node.gold();
    giver.join().unwrap();
    assert_eq!(gold.exit, 0, "{:#}", gold.grade);
    let waited = gold.events().into_iter().find_map(|event| match event {
        Event::GpusWaited { why, .. } => Some(why),
        _ => None,
    });
    assert!(waited.unwrap().contains("leased by run somebody-elses"));
    assert_eq!(gold.taken()[0].uuid, all[all.len() - 1]);
}
