@I.ir_module
class Module:
    @R.function
    def fact(n: R.Tensor((), "int32")) -> R.Tensor((), "int32"):
        c = R.less(n, R.const(2, "int32"))
        if c:
            r: R.Tensor((), "int32") = R.const(1, "int32")
        else:
            m = R.subtract(n, R.const(1, "int32"))
            q = Module.fact(m)
            r: R.Tensor((), "int32") = R.multiply(n, q)
        return r
    @R.function
    def even(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        x = Module.odd(n)
        return x
    @R.function
    def odd(n: R.Tensor((), "int32")) -> R.Tensor((), "bool"):
        x = Module.even(n)
        return x
