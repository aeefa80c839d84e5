from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function(private=True)
    def power(x: R.Tensor(("n",), "float32"), k: R.Tensor((), "int32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        z: R.Tensor((), "bool") = R.equal(k, R.const(0, "int32"))
        if z:
            r: R.Tensor((n,), "float32") = R.ones(R.shape([n]), "float32")
        else:
            km: R.Tensor((), "int32") = R.subtract(k, R.const(1, "int32"))
            rest: R.Tensor((n,), "float32") = cls.power(x, km)
            r: R.Tensor((n,), "float32") = R.multiply(x, rest)
        return r

    @R.function
    def main(x: R.Tensor(("n",), "float32"), k: R.Tensor((), "int32"), m: R.Tensor((2, "p"), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        cls = Module
        a = cls.power(x, k)
        b = R.multiply(a, x)
        c = R.add(b, a)
        return c
