//! The words by which assertions are classed.

/// Words of a promised resource.
pub(super) const RESOURCE: &[&str] = &[
    "bytes",
    "nbytes",
    "memory",
    "peak",
    "entries",
    "payload",
    "payloads",
    "collectives",
    "allocated",
    "allocations",
    "footprint",
    "rss",
    "elapsed",
    "duration",
    "latency",
    "throughput",
    "bandwidth",
    "flops",
    "traffic",
    "spent",
];

/// Calls that measure, whatever they are told.
pub(super) const MEASURING: &[&str] = &[
    "perf_counter",
    "perf_counter_ns",
    "monotonic",
    "monotonic_ns",
    "process_time",
    "elapsed_time",
    "element_size",
    "getsizeof",
    "get_traced_memory",
    "memory_info",
];

/// What these give is about what they are given.
pub(super) const TRANSPARENT: &[&str] = &[
    "abs", "all", "any", "copy", "cpu", "detach", "dict", "float", "get", "int", "item", "len",
    "list", "max", "mean", "min", "numpy", "prod", "round", "set", "sorted", "sum", "tolist",
    "total", "tuple", "values",
];

/// A number of these is set, not computed.
pub(super) const SETTING: &[&str] = &[
    "config",
    "default",
    "defaults",
    "delay",
    "dropout",
    "interval",
    "limit",
    "lr",
    "momentum",
    "option",
    "options",
    "period",
    "rate",
    "seconds",
    "settings",
    "temperature",
    "threshold",
    "timeout",
];

/// What numpy's, torch's and jax's functions are called by.
pub(super) const ARRAYS: &[&str] = &["numpy", "np", "torch", "jax.numpy", "jnp", "cupy"];

pub(super) const NUMERICAL_CALLS: &[&str] = &[
    "allclose",
    "isclose",
    "approx",
    "assert_close",
    "assert_allclose",
    "assert_array_equal",
    "assert_array_almost_equal",
    "assert_array_less",
    "assert_almost_equal",
    "assert_array_max_ulp",
    "assertAlmostEqual",
    "assertNotAlmostEqual",
    "array_equal",
    "array_equiv",
    "assert_equal_tensors",
];

pub(super) const TOLERANCE: &[&str] = &[
    "atol",
    "rtol",
    "tol",
    "tolerance",
    "eps",
    "epsilon",
    "ulp",
    "ulps",
];

pub(super) const STRUCTURE: &[&str] = &[
    "shape",
    "shapes",
    "dtype",
    "dtypes",
    "ndim",
    "numel",
    "stride",
    "strides",
    "device",
    "isinstance",
    "issubclass",
    "hasattr",
    "callable",
    "len",
    "keys",
    "type",
    "layout",
    "signature",
    "contiguous",
    "names",
    "mro",
    "annotations",
];
