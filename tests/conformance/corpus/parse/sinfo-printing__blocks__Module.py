from tvm.script import ir as I, relax as R
from tvm.script import tir as T
@I.ir_module
class Module:
    @T.prim_func
    def k(var_A: T.handle, s: T.int64, var_B: T.handle):
        T.func_attr({"tir.noalias": T.bool(True), "op_pattern": 0})
        n = T.int64()
        A = T.match_buffer(var_A, (n, T.int64(4)))
        B = T.match_buffer(var_B, (n, T.int64(4)), offset_factor=1)
        # with T.block("root"):
        C = T.alloc_buffer((n, T.int64(4)), scope="local")
        for i, j in T.grid(n, T.int64(4)):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(C[vi, vj])
                T.block_attr({"x": 1})
                C[vi, vj] = A[vi, vj] + T.Cast("float32", s)
        for i, j in T.grid(n, T.int64(4)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = C[vi, vj]
    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), o: R.Object) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.k, (x, R.prim_value(3)), out_sinfo=R.Tensor((n, 4), dtype="float32"))
            lv1: R.Tensor((n, 4), dtype="float32") = R.call_pure_packed("f", lv, sinfo_args=(R.Tensor((n, 4), dtype="float32"),))
            alloc: R.Tensor((n, 4), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
            R.output(lv1)
        return lv1
