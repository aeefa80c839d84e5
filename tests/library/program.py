# The program whose executable tests/run.d/42-library puts into a library, beside machine code of other kernels.
@I.ir_module
class Module:
    @T.prim_func
    def twice(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                Y[v] = X[v] * T.float32(2)

    @T.prim_func
    def plus(x: T.handle, y: T.handle, z: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n,), "float32")
        Y = T.match_buffer(y, (n,), "float32")
        Z = T.match_buffer(z, (n,), "float32")
        for i in range(n):
            with T.sblock("b"):
                v = T.axis.spatial(n, i)
                Z[v] = X[v] + Y[v]

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((n,), "float32"))
        z = R.call_tir(cls.plus, (x, y), out_ty=R.Tensor((n,), "float32"))
        return z
