# RFC 0089, section D1: the three kinds of shape: V0 symbolic or static, V1 the value of an expression, V2 known only
# at run time. `match_shape` converts the last two back to symbols.
from tvm.script import relax as R


@tvm.script.ir_module
class MyIRModule:
    @R.function
    def shape_example(x: R.Tensor[(n, 2, 2), "float32"]):
        with R.dataflow():
            # V0: symbolic and static shape deduction
            lv0: R.Tensor[(n, 4), "float32"] = R.reshape(x, (n, 4))
            lv1: R.Tensor[(n * 4,), "float32"] = R.flatten(lv0)
            lv2: R.Shape = (n * 4,)

            # V2: runtime dependent
            lv5: R.Tensor[_, "float32"] = R.unique(lv1)

            # re-match shape
            lv6: R.Tensor[(m,), "float32"] = R.match_shape(lv5, (m,))

            gv0: R.Tensor[(m,), "float32"] = R.exp(lv6)
            R.outputs(gv0)

        # V1: an opaque shape function; its call may have effects, so it is not in the dataflow block
        lv3: R.Shape = R.call_packed("myshape_func", R.shape([n * 4]))
        gv1 = R.call_dps_packed("custom_func", (R.flatten(x),), lv3, dtype="float32")
        lv7: R.Shape = R.match_shape(lv3, (k,))
        return (gv0, gv1, lv7)
