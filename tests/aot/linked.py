from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Linked:
    @T.prim_func
    def inner(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = T.float32(0)

    @T.prim_func
    def outer(a: T.Buffer((4,), "float32")):
        Linked.inner(a.data)
