# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def down(n: R.Tensor((), dtype="int64"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        done: R.Tensor((), dtype="bool") = R.less_equal(n, R.const(0, "int64"))
        if done:
            r: R.Tensor((2,), dtype="float32") = x
        else:
            less: R.Tensor((), dtype="int64") = R.subtract(n, R.const(1, "int64"))
            more: R.Tensor((2,), dtype="float32") = R.add(x, R.const(1.0, "float32"))
            r: R.Tensor((2,), dtype="float32") = Module.down(less, more)
        return r

    @R.function
    def main(n: R.Tensor((), dtype="int64")) -> R.Tensor((2,), dtype="float32"):
        z: R.Tensor((2,), dtype="float32") = R.zeros(R.shape([2]), "float32")
        gv: R.Tensor((2,), dtype="float32") = Module.down(n, z)
        return gv
