from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def words(A: T.Buffer((4,), "uint8"), C: T.Buffer((1,), "uint32"), D: T.Buffer((4,), "int8"), E: T.Buffer((2,), "uint16"), F: T.Buffer((2,), "float16")):
        C[0] = T.reinterpret("uint32", A[0:4])
        D[0:4] = T.reinterpret("int8x4", T.uint32(16909060))
        E[0:2] = T.reinterpret("uint16x2", A[0:4])
        F[0:2] = T.reinterpret("float16x2", A[0:4])

    @R.function
    def main(A: R.Tensor((4,), "uint8")):
        cls = Module
        y = R.call_tir(cls.words, (A,), out_ty=[R.Tensor((1,), "uint32"), R.Tensor((4,), "int8"), R.Tensor((2,), "uint16"), R.Tensor((2,), "float16")])
        return y
