# Three kernels for a GPU, one after another.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True, private=True)
    def add(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.sblock("b"):
                    vi = T.axis.spatial(128, bx * 64 + tx)
                    B[vi] = A[vi] + T.float32(1)

    @T.prim_func(s_tir=True, private=True)
    def scale(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.sblock("b"):
                vi = T.axis.spatial(128, tx)
                B[vi] = A[vi] * T.float32(3)

    @R.function
    def main(x: R.Tensor((128,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.call_tir(cls.add, (x,), out_sinfo=R.Tensor((128,), "float32"))
            b = R.call_tir(cls.scale, (a,), out_sinfo=R.Tensor((128,), "float32"))
            c = R.call_tir(cls.add, (b,), out_sinfo=R.Tensor((128,), "float32"))
            R.output(c)
        return c
