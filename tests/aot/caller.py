# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((), dtype="float32"):
        y = R.call_packed("adder", R.const(1.0, "float32"), ty_args=(R.Tensor((), dtype="float32"),))
        return y
