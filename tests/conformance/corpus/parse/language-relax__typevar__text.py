from typing import TypeVar
n = TypeVar("n")
m = TypeVar("m")

@I.ir_module
class Module:
    @R.function
    def f(x: R.Tensor((n, m), "float32"), y: R.Tensor((n, "m * 2"), "float32")) -> R.Tensor((n, "m * 3"), "float32"):
        cls = Module
        gv: R.Tensor((n, m * 3), "float32") = R.concat((x, y), axis=1)
        return gv
    @R.function
    def g(x: R.Tensor((n, m), "float32")):
        return x
