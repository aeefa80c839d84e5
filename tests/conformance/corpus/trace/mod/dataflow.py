# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def k(A: T.Buffer((T.int64(4), n), "float32"), v: T.int64, B: T.Buffer((T.int64(4), n), "float32")):
        # with T.sblock("root"):
        for i, j in T.grid(T.int64(4), n):
            with T.sblock("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(A[vi, vj])
                T.writes(B[vi, vj])
                B[vi, vj] = A[vi, vj] + T.Cast("float32", v)

    @T.prim_func(private=True, s_tir=True)
    def main_k(A: T.Buffer((T.int64(4),), "float32"), main_k: T.Buffer((T.int64(4),), "float32")):
        # with T.sblock("root"):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                T.reads(A[vi])
                T.writes(main_k[vi])
                main_k[vi] = A[vi]

    @R.function(private=True)
    def helper(x: R.Tensor((4, n), dtype="float32"), y: R.Tensor(dtype="int32")) -> R.Tensor((4, n), dtype="float32"):
        cls = Module
        helper = R.call_tir(cls.k, (x, n), out_ty=R.Tensor((4, n), dtype="float32"))
        k = R.call_tir(cls.k, (helper, 3), out_ty=R.Tensor((4, n), dtype="float32"))
        return k

    @R.function(pure=False)
    def main(x: R.Tensor((4, n), dtype="float32"), main: R.Tensor(dtype="int32")) -> R.Tensor((4, n), dtype="float32"):
        cls = Module
        m = T.int64()
        k: R.Tensor((4, n), dtype="float32") = cls.helper(x, main)
        with R.dataflow():
            d: R.Tensor((4 * n,), dtype="float32") = R.reshape(k, R.shape([4 * n]))
            e: R.Tensor((m,), dtype="float32") = R.match_cast(d, R.Tensor((m,), dtype="float32"))
            s: R.Shape([m]) = R.shape_of(e)
            f: R.Tensor((m,), dtype="float32") = R.reshape(e, s)
            o: R.Tensor((m,), dtype="float32") = R.add(e, e)
            sum = R.call_dps_packed("pk", (o, x), out_ty=R.Tensor((m, 4), dtype="float32"))
            R.output(o, sum)
        g: R.Any = R.call_packed("q", o, R.shape([m, 1]))
        g2: R.Tensor((m,), dtype="float32") = R.call_packed("q", o, ty_args=(R.Tensor((m,), dtype="float32"),))
        g3: R.Tensor((m,), dtype="float32") = R.reshape(o, R.shape([m]))
        return k