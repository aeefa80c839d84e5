from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def bump(x: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                x[vi] = x[vi] + T.float32(100)

    @R.function
    def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            a = R.add(x, w)
            b = R.multiply(a, w)
            c0 = R.exp(b)
            R.output(c0)
        y = R.call_tir_inplace(cls.bump, (x,), inplace_indices=[0], out_ty=R.Tensor((4,), "float32"))
        z = R.add(y, w)
        q = R.subtract(z, c0)
        return (c0, z, q)
