@I.ir_module
class Module:
    @R.function
    def apply(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = f(x)
        return y
    @R.function
    def g(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        z = Module.apply(Module.g, x)
        t = (Module.g, x)
        u = t[0](x)
        return z
