# One block of self-attention over a symbolic sequence length `n`, with a residual and RMS norm.
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 8), dtype="float32"),
        wq: R.Tensor((8, 8), dtype="float32"),
        wk: R.Tensor((8, 8), dtype="float32"),
        wv: R.Tensor((8, 8), dtype="float32"),
        wo: R.Tensor((8, 8), dtype="float32"),
        g: R.Tensor((8,), dtype="float32"),
    ) -> R.Tensor(("n", 8), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            h: R.Tensor((n, 8), dtype="float32") = R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-05)
            q: R.Tensor((2, n, 4), dtype="float32") = R.permute_dims(R.reshape(R.matmul(h, wq), (n, 2, 4)), [1, 0, 2])
            k: R.Tensor((2, n, 4), dtype="float32") = R.permute_dims(R.reshape(R.matmul(h, wk), (n, 2, 4)), [1, 0, 2])
            v: R.Tensor((2, n, 4), dtype="float32") = R.permute_dims(R.reshape(R.matmul(h, wv), (n, 2, 4)), [1, 0, 2])
            s: R.Tensor((2, n, n), dtype="float32") = R.matmul(q, R.permute_dims(k, [0, 2, 1]))
            p: R.Tensor((2, n, n), dtype="float32") = R.nn.softmax(R.multiply(s, R.const(0.5, "float32")), axis=-1)
            o: R.Tensor((2, n, 4), dtype="float32") = R.matmul(p, v)
            c: R.Tensor((n, 8), dtype="float32") = R.reshape(R.permute_dims(o, [1, 0, 2]), (n, 8))
            gv: R.Tensor((n, 8), dtype="float32") = R.add(x, R.matmul(c, wo))
            R.output(gv)
        return gv
