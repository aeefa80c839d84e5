# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def release(namespace: R.Tensor((2,), dtype="float32"), linux: R.Tensor((2,), dtype="float32"), result: R.Tensor((2,), dtype="float32")) -> R.Tuple(R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")), R.Tensor((2,), dtype="float32")):
        r = ((namespace, linux), result)
        return r

    @R.function
    def ffi_main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        return x

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y: R.Tensor((2,), dtype="float32") = R.multiply(x, R.const(3.0, "float32"))
        return y

    @R.function
    def numbers(x: R.Tensor(("n", 3), dtype="float32")) -> R.Tuple(R.Shape(["n", 3]), R.Prim("int64")):
        n = T.int64()
        r = (R.shape([n, 3]), R.prim_value(n))
        return r
