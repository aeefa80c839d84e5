# RFC 0089, section D2: two dataflow blocks with effects between them.
#
# The RFC names `linear`, `relu`, `linear1` and `R.read_tensor_from_file` without defining them; here they are PrimFuncs
# of the module and a parameter.
from tvm.script import ir as I, relax as R, tir as T


@I.ir_module
class MyIRModule:
    @T.prim_func
    def linear(x: T.Buffer((1, 784), "float32"), w: T.Buffer((128, 784), "float32"), b: T.Buffer((128,), "float32"),
               y: T.Buffer((1, 128), "float32")):
        for i, j, k in T.grid(1, 128, 784):
            with T.block("linear"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = b[vj]
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vj, vk]

    @T.prim_func
    def relu(x: T.Buffer((1, 128), "float32"), y: T.Buffer((1, 128), "float32")):
        for i, j in T.grid(1, 128):
            with T.block("relu"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(x[vi, vj], T.float32(0))

    @T.prim_func
    def linear1(x: T.Buffer((1, 128), "float32"), w: T.Buffer((128, 128), "float32"), b: T.Buffer((128,), "float32"),
                y: T.Buffer((1, 128), "float32")):
        for i, j, k in T.grid(1, 128, 128):
            with T.block("linear1"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    y[vi, vj] = b[vj]
                y[vi, vj] = y[vi, vj] + x[vi, vk] * w[vj, vk]

    @R.function(pure=False)
    def main(x: R.Tensor((1, 784), "float32"), w: R.Tensor((128, 784), "float32"), b: R.Tensor((128,), "float32"),
             gv1: R.Tensor((128, 128), "float32")):
        cls = MyIRModule
        with R.dataflow():
            lv0 = R.call_tir(cls.linear, (x, w, b), out_sinfo=R.Tensor((1, 128), "float32"))
            gv0 = R.call_tir(cls.relu, (lv0,), out_sinfo=R.Tensor((1, 128), "float32"))
            R.output(gv0)

        R.call_packed("custom_inplace_update", gv0, sinfo_args=R.Tuple())

        with R.dataflow():
            out = R.call_tir(cls.linear1, (gv0, gv1, b), out_sinfo=R.Tensor((1, 128), "float32"))
            R.output(out)
        return out
