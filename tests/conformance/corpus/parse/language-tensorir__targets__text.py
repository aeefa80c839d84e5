@T.prim_func
def f():
    T.func_attr({"target": T.target("llvm"), "t2": T.target({"kind": "cuda", "arch": "sm_80", "keys": ["cuda", "gpu"]}), "t3": T.target("cuda -arch=sm_80"), "t4": T.target("cuda", host="llvm"), "t5": T.Target("llvm"), "x": T.float32(1), "y": T.bool(True), "z": None, "w": 1.5, "calling_conv": 2, "tirx.is_entry_func": True, "global_symbol": "f", "layout_free_buffers": [1], "m": T.index_map(lambda i, j: (i * 4, j)), "thread_extent": {"threadIdx.x": 4}, "k": "a", "l": ["a", "b"], "ll": [[1], []], "d": {}, "inf": T.float32("inf")})
    T.evaluate(0)
