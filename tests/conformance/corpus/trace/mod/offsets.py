# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

elem_offset = TypeVar("elem_offset")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def narrow(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    @T.prim_func(s_tir=True)
    def wide(A: T.Buffer((T.int64(4),), "float32", elem_offset=elem_offset), B: T.Buffer((T.int64(4),), "float32")):
        T.attr({"pragma_scope": "seq"})
        for i in range(T.int64(4)):
            B[i] = A[i]

    @R.function
    def main(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((8,), dtype="float32"):
        gv = R.call_dps_packed("f", (x, 1), out_ty=R.Tensor((8,), dtype="float32"))
        return gv
