# RFC 0089, section D0: one program over Relax, TensorIR and packed functions.
#
# Corrected against the RFC's text: the block reads `B[k, j]` with `n` as the reduced dimension (the RFC's indices run
# out of the buffers), and `(gv1)` is the tuple `(gv1,)`.
from tvm.script import relax as R, tir as T


@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tir_matmul(x: T.handle, y: T.handle, z: T.handle) -> None:
        m = T.var("int64")
        n = T.var("int64")
        k = T.var("int64")
        A = T.match_buffer(x, (m, n))
        B = T.match_buffer(y, (n, k))
        C = T.match_buffer(z, (m, k))

        for i0, j0, k0 in T.grid(m, k, n):
            with T.block("matmul"):
                vi, vj, vk = T.axis.remap("SSR", [i0, j0, k0])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] += A[vi, vk] * B[vk, vj]

    @R.function
    def relax_func(x: R.Tensor[(m, n), "float32"], y: R.Tensor[(n, k), "float32"]):
        with R.dataflow():
            gv0 = R.call_tir(tir_matmul, (x, y), (m, k), dtype="float32")
            R.outputs(gv0)

        R.call_packed("custom_print", gv0)
        gv1 = R.call_packed("custom_add", gv0, gv0)
        gv2 = R.call_dps_packed("custom_tile", (gv1,), (m, k * 2), dtype="float32")
        return gv2
