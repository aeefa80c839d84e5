# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
        return x

    @R.function
    def half(x: R.Tensor(dtype="float16")) -> R.Tensor(dtype="float16"):
        return x
