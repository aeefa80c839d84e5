@I.ir_module
class Module(BasePyModule):
    @I.pyfunc
    def pf(self, x: "torch.Tensor"):
        y = [f"{a}" for a in x]
        return y + 1
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        a = R.call_py_func("pf", (x,), out_ty=R.Tensor((4,), "float32"))
        b = R.call_py_func(R.str("pf"), (x,), out_sinfo=R.Tensor((4,), "float32"))
        return a
