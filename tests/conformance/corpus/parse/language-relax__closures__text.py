@I.ir_module
class Module:
    @R.function
    def lifted(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, y)
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        c = R.make_closure(cls.lifted, (x,))
        r = R.invoke_closure(c, (y,), ty_args=(R.Tensor((2,), dtype="float32"),))
        r1 = R.invoke_closure(c, (y,), ty_args=R.Tensor((2,), dtype="float32"))
        r2 = R.invoke_pure_closure(c, (y,), ty_args=(R.Tensor((2,), dtype="float32"),))
        f = cls.lifted
        s = f(x, y)
        return r2
