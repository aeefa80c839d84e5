# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(n: R.Tensor((), dtype="int32"), k: R.Tensor((), dtype="int32")) -> R.Tensor((), dtype="int32"):
        s: R.Tensor((), dtype="int32") = R.add(n, k)
        R.print(s, format="{}")
        return s

    @R.function(pure=False)
    def real(x: R.Prim("float32")) -> R.Prim("float32"):
        R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def scalar(x: R.Tensor((), dtype="float16")) -> R.Tensor((), dtype="float16"):
        s: R.Tensor((), dtype="float16") = R.add(x, x)
        R.print(s, format="{}")
        return s

    @R.function(pure=False)
    def truth(x: R.Tensor((), dtype="bool")) -> R.Tensor((), dtype="bool"):
        R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def shaped(s: R.Shape(ndim=2)) -> R.Shape(ndim=2):
        R.print(s, format="{}")
        return s

    @R.function
    def vector(v: R.Tensor((3,), dtype="int64")) -> R.Tensor((3,), dtype="int64"):
        return v
