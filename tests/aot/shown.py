# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        s = R.sort(x, axis=-1, descending=False)
        a = R.argsort(x, axis=0, descending=True, dtype="int32")
        t = R.topk(x, k=2, axis=1, ret_type="both", largest=True, dtype="int64")
        R.print(x, s, a, format="x {}\nsorted {1}{{}}\nargsort {2}")
        R.print(t, R.shape([n, m]), R.str("and"), format="")
        return s

    @R.function(pure=False)
    def whole(x: R.Tensor(("n",), dtype="int64")) -> R.Tensor(dtype="int64", ndim=1):
        u = R.unique(x, sorted=True, return_index=True, return_inverse=True, return_counts=True)
        v = R.unique(x, sorted=False, return_index=False, return_inverse=False, return_counts=True)
        w = R.unique(R.sort(x), sorted=False)
        R.print(x, u, v, format="{} {} {}")
        return w

    @R.function(pure=False)
    def half(x: R.Tensor(("n",), dtype="float16")) -> R.Tensor(("n",), dtype="float16"):
        s = R.sort(x, descending=True)
        R.print(x, s, format="{} {}")
        return s

    @R.function(pure=False)
    def brain(x: R.Tensor(("n",), dtype="bfloat16")) -> R.Tensor(("n",), dtype="bfloat16"):
        R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def flags(x: R.Tensor(("n",), dtype="bool")) -> R.Tensor(("n",), dtype="bool"):
        R.print(x, format="{}")
        return x

    @R.function(pure=False)
    def bytes(x: R.Tensor(("n",), dtype="uint8")) -> R.Tensor(("n",), dtype="uint8"):
        s = R.sort(x)
        R.print(s, format="{}")
        return s

    @R.function
    def same_main(x: R.Tensor(("n", "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        return x

    @R.function
    def same_whole(x: R.Tensor(("n",), dtype="int64")) -> R.Tensor(("n",), dtype="int64"):
        return x

    @R.function
    def same_half(x: R.Tensor(("n",), dtype="float16")) -> R.Tensor(("n",), dtype="float16"):
        return x

    @R.function
    def same_brain(x: R.Tensor(("n",), dtype="bfloat16")) -> R.Tensor(("n",), dtype="bfloat16"):
        return x

    @R.function
    def same_flags(x: R.Tensor(("n",), dtype="bool")) -> R.Tensor(("n",), dtype="bool"):
        return x

    @R.function
    def same_bytes(x: R.Tensor(("n",), dtype="uint8")) -> R.Tensor(("n",), dtype="uint8"):
        return x
