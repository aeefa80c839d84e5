@I.ir_module(s_tir=True)
class Module:
    I.module_attrs({"runtime": None})
    @T.prim_func(private=True)
    def a(A: T.Buffer((4,), "float32")):
        T.func_attr({"tirx.noalias": True, "op_pattern": 0, "s": "x", "target": T.target({"arch": "sm_90a", "keys": ["cuda", "gpu"], "kind": "cuda", "max_num_threads": 1024, "tag": "", "thread_warp_size": 32}, host="llvm"), "tirx.is_host_func": True, "tirx.kernel_launch_params": ["threadIdx.x", "tirx.use_dyn_shared_memory"]})
        T.evaluate(0)
    @T.prim_func(persistent=True)
    def b(A: T.Buffer((4,), "float32")):
        T.evaluate(0)
    @T.prim_func
    def main(n: T.int32) -> T.int32:
        return n + 1
