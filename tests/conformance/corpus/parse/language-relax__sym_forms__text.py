@I.ir_module
class Module:
    @R.function
    def f1(x: R.Tensor(("n", "n * 2"), "float32"), y: R.Tensor(("T.max(n, 1)", "n // 2", "n % 3", "n - 1"), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        z = R.match_cast(x, R.Tensor((n, n * 2), "float32"))
        return R.zeros((n,), "float32")

    @R.function
    def f2[n, m](x: R.Tensor((n, m * 2), "float32"), y: R.Tensor((m,))) -> R.Tensor((n, m * 2), "float32"):
        return R.add(x, x)

    @R.function
    def f3[n: int, m: int](x: R.Tensor((n, m), "float32")) -> R.Tensor((n + m,), "float32"):
        z = R.zeros((n + m,), "float32")
        return z

    @R.function
    def f4(x: R.Tensor(("n", 'T.Cast("int64", m)'), "float32"), y: R.Shape(["m"])) -> R.Tensor(("T.if_then_else(n > 1, n, 1)",), "float32"):
        n, m = T.int64(), T.int64()
        lv: R.Tensor((T.if_then_else(n > 1, n, 1),), "float32") = R.zeros((T.if_then_else(n > 1, n, 1),), "float32")
        return lv

    @R.function
    def f5(x: R.Tensor(ndim=2, dtype="float32")) -> R.Tensor(ndim=2, dtype="float32"):
        m = T.int64()
        n = T.int64()
        lv = R.match_cast(x, R.Tensor((m, n), "float32"))
        lv1: R.Tensor((m, n), "float32") = R.add(lv, lv)
        return lv1
