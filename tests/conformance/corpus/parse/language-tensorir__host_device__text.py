@I.ir_module(s_tir=True)
class Module:
    @T.prim_func
    def main(n: T.int32) -> T.int32:
        T.func_attr({"target": T.target("llvm", host="llvm"), "calling_conv": 1})
        T.attr(T.target("ext_dev"), "target", 0)
        err: T.let[T.int32] = T.call_extern("int32", "main_kernel", n)
        assert err == 0, ("RuntimeError", ["Error executing compute kernel"])
        k = Module.main_kernel(n)
        with T.attr("default", "device_id", 0), T.attr("default", "device_type", 2):
            Module.main_kernel(T.int32(3))
            T.call_packed("main_kernel", n, T.float32(1), "str", 1.5, True)
        return 0
    @T.prim_func
    def main_kernel(n: T.int32) -> T.int32:
        T.func_attr({"target": T.target("ext_dev"), "tirx.noalias": True, "tirx.is_global_func": True, "global_symbol": "main_kernel", "tirx.kernel_launch_params": []})
        blockIdx_x = T.launch_thread("blockIdx.x", n)
        T.evaluate(n + blockIdx_x)
        T.ret(0)
