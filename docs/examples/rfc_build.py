# RFC 0089, section 4.3: the running example of the minimum build.
#
# Corrected against the RFC's text: `X` and `Y` match the parameters `a` and `b` (the RFC matches an undefined `x`), the
# block has a name and axes, and `flatten` is called as the packed function that it is.
from tvm.script import tir as T, relax as R


@tvm.script.ir_module
class MyIRModule:
    @T.prim_func
    def tirexp(a: T.handle, b: T.handle):
        n1 = T.var("int64")
        m1 = T.var("int64")
        X = T.match_buffer(a, (n1, m1), "float32")
        Y = T.match_buffer(b, (n1, m1), "float32")
        for i0, j0 in T.grid(n1, m1):
            with T.block("exp"):
                i, j = T.axis.remap("SS", [i0, j0])
                Y[i, j] = T.exp(X[i, j])

    @R.function
    def relax_function(x: R.Tensor[(n, m), "float32"]):
        with R.dataflow():
            lv0: R.Tensor[(n, m), "float32"] = R.call_tir(tirexp, (x,), (n, m), dtype="float32")
            gv0: R.Tensor[(m * n,), "float32"] = R.call_dps_packed("flatten", (lv0,), (m * n,), dtype="float32")
            R.outputs(gv0)

        return gv0
