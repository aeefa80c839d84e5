# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def helper(y: R.Tensor(("m", 2), dtype="float32")) -> R.Tensor(("m", 2), dtype="float32"):
        m = T.int64()
        h: R.Tensor((m, 2), dtype="float32") = R.add(y, R.const(1.0, "float32"))
        h1: R.Tensor((m, 2), dtype="float32") = R.multiply(h, h)
        return h1

    @R.function
    def main(x: R.Tensor(("n", 2), dtype="float32")) -> R.Tensor(("n", 2), dtype="float32"):
        n = T.int64()
        cls = Module
        lv: R.Tensor((n, 2), dtype="float32") = R.add(x, x)
        lv1: R.Tensor((n, 2), dtype="float32") = cls.helper(lv)
        pair: R.Tuple(R.Tensor((n, 2), dtype="float32"), R.Shape([n, 2])) = (lv1, R.shape([n, 2]))
        gv: R.Tensor((n, 2), dtype="float32") = R.subtract(pair[0], x)
        return gv

    @R.function
    def twice(z: R.Tensor(("k",), dtype="int64")) -> R.Tensor(("k",), dtype="int64"):
        k = T.int64()
        t: R.Tensor((k,), dtype="int64") = R.add(z, z)
        return t

    @R.function(pure=False)
    def last(z: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        w: R.Tensor((2,), dtype="float32") = R.multiply(z, R.const(3.0, "float32"))
        r = R.call_packed("host.ends", w, ty_args=(R.Tensor((2,), dtype="float32"),))
        return r
