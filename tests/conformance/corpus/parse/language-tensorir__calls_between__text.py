@I.ir_module(s_tir=True)
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), n: T.int32):
        cls = Module
        cls.sub(A.data, n)
        Module.sub(T.address_of(A[1]), n * 2)
        x: T.let[T.int32] = Module.addone(n)
        T.evaluate(Module.addone(x))
        T.call_extern("void", "ext", Module.addone(n))
        Module.buf(A)
    @T.prim_func(private=True)
    def sub(p: T.handle("float32"), n: T.int32):
        B = T.decl_buffer((4,), "float32", data=p)
        B[0] = T.Cast("float32", n)
    @T.prim_func(private=True)
    def addone(n: T.int32) -> T.int32:
        return n + 1
    @T.prim_func(private=True)
    def buf(A: T.Buffer((4,), "float32")):
        A[0] = 1.0
