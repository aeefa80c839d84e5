@I.ir_module(s_tir=True)
class Module:
    @T.prim_func
    def k(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        T.evaluate(0)
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        cls = Module
        a = R.call_tir_inplace(cls.k, (x, y), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), "float32")], inplace_indices=[0, -1])
        a1 = R.call_tir_inplace(cls.k, (x, y), inplace_indices=[0, -1], out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), "float32")])
        return a
