@I.ir_module(s_tir=True)
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer(2, "float32")):
        mod.subroutine(A[0])
        T.evaluate(mod.subroutine(A[1]))
        A[1] = mod.subroutine(A[0]) + 1.0

    @T.prim_func(s_tir=True)
    def subroutine(x: T.float32) -> T.float32:
        return T.sqrt(x)
