@I.ir_module(check_well_formed=False)
class Before:
    @R.function
    def main(A: R.Tensor([16], "float32")):
        cls = Before
        return relax.Call(tvm.ir.Op.get("relax.call_tir"), [cls.k, relax.Tuple([A])], ty_args=[A.ty])
    @T.prim_func(private=True, s_tir=True)
    def k(A: T.Buffer(16, "float32"), B: T.Buffer(16, "float32")):
        T.evaluate(0)
