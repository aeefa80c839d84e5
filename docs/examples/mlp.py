# A two-layer MLP with a symbolic batch `n`, in today's spelling.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), dtype="float32"),
        w0: R.Tensor((4, 8), dtype="float32"),
        b0: R.Tensor((8,), dtype="float32"),
        w1: R.Tensor((8, 3), dtype="float32"),
        b1: R.Tensor((3,), dtype="float32"),
    ) -> R.Tensor(("n", 3), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv0: R.Tensor((n, 8), dtype="float32") = R.matmul(x, w0)
            lv1: R.Tensor((n, 8), dtype="float32") = R.add(lv0, b0)
            lv2: R.Tensor((n, 8), dtype="float32") = R.nn.relu(lv1)
            lv3: R.Tensor((n, 3), dtype="float32") = R.matmul(lv2, w1)
            gv: R.Tensor((n, 3), dtype="float32") = R.add(lv3, b1)
            R.output(gv)
        return gv
