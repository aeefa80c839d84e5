@I.ir_module(s_tir=True)
class Mod:
    @T.prim_func
    def main(A: T.Buffer((25,), "float32")):
        T.func_attr({"target": T.target({"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mattr": ["+sve"]})})
        for j in T.vectorized(T.vscale() * 4):
            A[j] = T.float32(1)
        for i in T.vectorized(4 * T.vscale()):
            if i < 3:
                A[i] = T.if_then_else(i > 0, T.float32(1), A[i])
        A[T.Ramp(0, 1, T.vscale() * 4)] = T.Broadcast(T.float32(1), T.vscale() * 4) + A[T.Ramp(0, 1, T.vscale() * 4)]
        v: T.let[T.float32xvscalex4] = T.Broadcast(T.float32(1), T.vscale() * 4)
        A[0:T.vscale() * 4] = v
        T.evaluate(T.Cast("int32xvscalex4", v))
        T.evaluate(T.float16x4(1))
        T.evaluate(T.call_llvm_pure_intrin("float32xvscalex4", "llvm.masked.load", T.uint32(3), A.data))
