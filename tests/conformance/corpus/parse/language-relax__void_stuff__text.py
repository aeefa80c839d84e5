@I.ir_module
class Module:
    @R.function(pure=False)
    def v(x: R.Tensor((2,), "float32")) -> R.Tuple:
        R.print(x)
        return R.tuple()
    @R.function(pure=False)
    def v2(x: R.Tensor((2,), "float32")) -> None:
        R.print(x)
        return R.tuple()
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")):
        cls = Module
        cls.v(x)
        _ = cls.v2(x)
        return x
