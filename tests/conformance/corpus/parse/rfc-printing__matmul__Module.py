from tvm.script import relax as R, tir as T
import tvm
@tvm.script.ir_module
class Module:
    @T.prim_func
    def tir_matmul(x: T.handle, y: T.handle, z: T.handle) -> None:
        m = T.var("int32")
        n = T.var("int32")
        k = T.var("int32")
        A = T.match_buffer(x, (m, n))
        B = T.match_buffer(y, (n, k))
        C = T.match_buffer(z, (m, k))
        for i0, j0, k0 in T.grid(m, n, k):
            with T.block("b"):
                i, j, k1 = T.axis.remap("SSR", [i0, j0, k0])
                with T.init():
                    C[i, j] = 0.0
                C[i, j] += A[i, k1] * B[j, k1]
    @R.function
    def relax_func(x: R.Tensor[(m, n), "float32"], y: R.Tensor[(n, k), "float32"]):
        with R.dataflow():
            gv0 = R.call_tir(tir_matmul, (x, y), (m, k), dtype="float32")
            R.outputs(gv0)
        R.call_packed("custom_print", gv0)
        gv1: R.Tensor[(m, k), "float32"] = R.call_packed("custom_add", gv0, gv0)
        gv2 = R.call_dps_packed("custom_tile", (gv1,), (m, k * 2), dtype="float32")
        return gv2
    @R.function
    def shape_example(x: R.Tensor[(n, 2, 2), "float32"]):
        with R.dataflow():
            lv0: R.Tensor[(n, 4), "float32"] = R.reshape(x, (n, 4))
            lv1: R.Tensor[(n * 4,), "float32"] = R.flatten(lv0)
            lv2: R.Shape = (n * 4,)
            R.outputs(lv1, lv2)
        return lv1
