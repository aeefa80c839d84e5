"""The figures of scripts/bench: each a benchmark of rldb_bench, its peer or limit in the same run, and its goal.

A goal is on the value or on the ratio to the peer, and is the most or the least that it may be.
"""
from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Figure:
    title: str
    benchmark: str  # as in rldb_bench --benchmark_list_tests, without what Google Benchmark appends
    unit: str  # of the table: ns, us, ms, s, a counter's own
    counter: Optional[str] = None  # None: the time
    scale: float = 1.0  # what a counter is multiplied by
    peer: Optional[str] = None  # another benchmark, measured in the same way
    peer_title: str = ""
    goal: Optional[float] = None
    of: str = "value"  # or "ratio"
    most: bool = True


PASSES = ["LegalizeOps", "DeadCodeElimination", "EliminateCommonSubexpr", "CanonicalizeBindings", "FuseOps", "FuseTIR",
          "ToNonDataflow", "CallTIRRewrite", "StaticPlanBlockMemory", "VMShapeLower"]
OPERATORS = ["softmax", "layer_norm", "gelu", "silu", "exp", "tanh", "add_row", "sum_rows", "max_rows", "transpose",
             "product_512", "product_128_768_3072", "product_vector", "product_batch", "product_int8", "conv_3x3",
             "conv_1x1", "conv_7x7", "conv_depthwise", "max_pool", "group_norm", "sort", "topk", "sum_columns",
             "softmax_odd", "softmax_symbolic", "add_row_symbolic", "product_odd", "product_symbolic", "conv_batch_3",
             "conv_nhwc", "conv_1d", "conv_3d", "conv_transpose", "avg_pool", "concat", "slice", "pad", "gather",
             "transpose_heads"]
WITHOUT_PEER = {"group_norm", "sort", "topk", "pad", "gather"}
# Where the order of additions does not matter the strict code has to be as fast as the other.
UNORDERED = {"gelu", "silu", "exp", "tanh", "add_row", "max_rows", "transpose", "max_pool", "product_int8",
             "add_row_symbolic", "concat", "slice", "pad", "gather", "transpose_heads"}

SECTIONS = [
    ("Starting", [
        Figure("start to prompt", "start_up", "ms", goal=10),
        Figure("first result, empty cache", "first_result/cold", "ms", goal=40),
        Figure("first result, kernels cached", "first_result/warm", "ms", goal=10),
    ]),
    ("Front end, 10,000 bindings", [
        Figure("check", "check/10000", "bindings/s", "bindings/s", peer="tree_sitter/10000",
               peer_title="tree-sitter alone", goal=150_000, most=False),
        Figure("syntax tree", "syntax/10000", "bindings/s", "bindings/s", peer="tree_sitter/10000",
               peer_title="tree-sitter alone"),
        Figure("syntax tree, many shapes", "syntax_mixed/10000", "bindings/s", "bindings/s",
               peer="tree_sitter_mixed/10000", peer_title="tree-sitter alone"),
        Figure("edit of a line", "edit/10000", "ms", goal=1),
        Figure("memory", "peak_memory/10000", "bytes/binding", "bytes/binding", goal=1200),
        Figure("print", "print/10000", "ms", peer="parse/10000", peer_title="reading it"),
    ]),
    ("Passes, 10,000 bindings",
     [Figure(name, f"run_pass/{name}/10000", "ms", goal=50) for name in PASSES]),
    ("Machine", [
        Figure("packed call", "vm_packed_call", "ns", "per_call", 1e9, goal=10),
        Figure("kernel call", "vm_kernel_call", "ns", "per_call", 1e9, goal=15),
        Figure("Relay VM, call of a function", "relay_vm_calls", "ns", "per_call", 1e9, peer="vm_bytecode_call",
               peer_title="Relax VM"),
    ]),
    ("Debugger", [
        Figure("one reverse step after a million instructions", "BM_ReverseStepAfterAMillion", "ms", goal=10),
        Figure("reverse-continue over a million instructions", "BM_ReverseContinue/0/200000", "ms"),
        Figure("reverse-continue over 11 million", "BM_ReverseContinue/0/2200000", "ms", goal=500),
        Figure("breakpoint that is not hit", "BM_DebuggerBreakpointNotHit", "ms", peer="BM_DebuggerNoBreakpoint",
               peer_title="none", goal=1.01, of="ratio"),
        Figure("recording, kernels of 0.1 ms", "BM_KernelsDebugger/0/0", "ms", peer="BM_KernelsBare/0",
               peer_title="not recorded", goal=1.3, of="ratio"),
        Figure("recording, products of 320", "BM_KernelsDebugger/1/0", "ms", peer="BM_KernelsBare/1",
               peer_title="not recorded", goal=1.3, of="ratio"),
    ]),
    ("Kernels, strict", [
        Figure(name, f"operator/{name}/rldb", "us", peer=None if name in WITHOUT_PEER else f"operator/{name}/onednn",
               peer_title="oneDNN", goal=None if name in WITHOUT_PEER else 1.5 if name in UNORDERED else 3, of="ratio")
        for name in OPERATORS
    ] + [
        Figure("product of 1024", "matmul_jit/plain/1024", "ms", peer="matmul_openblas/1024", peer_title="OpenBLAS",
               goal=1, of="ratio"),
        Figure("add of 16 million", "add_jit", "ms", peer="add_memcpy", peer_title="memcpy", goal=1.1, of="ratio"),
    ]),
    ("Kernels, --fp=fast", [
        Figure(name, f"operator/{name}/rldb_fast", "us",
               peer=None if name in WITHOUT_PEER else f"operator/{name}/onednn", peer_title="oneDNN",
               goal=None if name in WITHOUT_PEER else 1.5, of="ratio")
        for name in OPERATORS if name not in UNORDERED
    ]),
    ("Kernels on two threads", [
        Figure(name, f"operator/{name}/rldb_two_threads", "us", peer=f"operator/{name}/rldb", peer_title="one thread",
               goal=1 / 1.8, of="ratio")
        for name in ("gelu", "softmax", "product_512", "conv_3x3", "max_pool")
    ]),
    ("Compiling a kernel (full tier)", [
        Figure("add_row", "operator/add_row/compile", "ms", goal=2),
        Figure("product_512", "operator/product_512/compile", "ms", goal=8),
        Figure("softmax", "operator/softmax/compile", "ms"),
        Figure("conv_3x3", "operator/conv_3x3/compile", "ms"),
    ]),
]

# Time at n, 2n and 4n; the exponent of the fit is 1 where the time is linear.
GROWTH = [("check", "check", None, [10_000, 20_000, 40_000]), ("print", "print", None, [10_000, 20_000, 40_000])]
GROWTH += [(name, f"run_pass/{name}", None, [10_000, 20_000, 40_000]) for name in PASSES]
GROWTH += [(f"Relay lets: {phase}", "relay_lets", phase, [25_000, 50_000, 100_000])
           for phase in ("parse", "types", "translate", "compile")]
MOST_GROWTH = 1.15
