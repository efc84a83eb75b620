//! A task that is small enough to run whole in a test: one function, two suites.

use std::fs;
use std::path::{Path, PathBuf};

pub const NAME: &str = "clip";

const GOLD: &str = "\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,8 @@
 def double(x):
     return x + x
+
+
+def clip(values, low, high):
+    if not values:
+        return []
+    return [v for v in values if v >= low and v <= high]
";

const TASK: &str = r#"
schema = 1
id = "clip"
title = "Values within bounds"
area = "training"
kind = "feature"
repository = "test/calc"
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
limit_s = 60
[suites.probes]
from = "probes"
into = "probes"
limit_s = 60
[[claims]]
id = "C1"
text = "Bounds belong to what is kept."
kind = "behaviour"
oracles = ["direct", "property"]
probes = ["probes/test_bounds.py::test_low"]
"#;

/// Writes it into a folder of tasks; `more` ends its `task.toml`.
pub fn write(folder: &str, more: &str) -> PathBuf {
    let all = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("small-tasks")
        .join(folder);
    let _ = fs::remove_dir_all(&all);
    let task = all.join(NAME);
    for inside in ["base", "official", "probes"] {
        fs::create_dir_all(task.join(inside)).unwrap();
    }
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/requirements.lock");
    fs::copy(lock, task.join("requirements.lock")).unwrap();
    for (file, text) in [
        ("base/calc.py", "def double(x):\n    return x + x\n"),
        ("gold.patch", GOLD),
        ("prompt.md", "Add `calc.clip(values, low, high)`.\n"),
        (
            "official/test_clip.py",
            "from calc import clip\n\n\ndef test_clip():\n    assert clip([1, 5, 9], 2, 8) == [5]\n    assert clip([], 2, 8) == []\n",
        ),
        (
            "probes/test_bounds.py",
            "from calc import clip\n\n\ndef test_low():\n    assert clip([2], 2, 8) == [2]\n",
        ),
    ] {
        fs::write(task.join(file), text).unwrap();
    }
    fs::write(task.join("task.toml"), format!("{TASK}{more}")).unwrap();
    all
}
