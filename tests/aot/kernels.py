from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Kernels:
    @T.prim_func
    def shifted(va: T.handle, vb: T.handle, s: T.int64):
        n = T.int64()
        a = T.match_buffer(va, (n,), "float32")
        b = T.match_buffer(vb, (n,), "float32")
        for i in range(n):
            b[i] = a[i] + T.Cast("float32", s)

    @T.prim_func(private=True)
    def hidden(a: T.Buffer((4,), "float32")):
        for i in range(4):
            a[i] = T.float32(0)
