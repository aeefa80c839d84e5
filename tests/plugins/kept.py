# Memory that is written by calls which are not given it.
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Any:
        a = R.add(x, x)
        k = R.call_packed("kept.keep", a, ty_args=(R.Tuple(),))
        q = R.call_packed("kept.bump", ty_args=(R.Tuple(),))
        c = R.add(a, R.const(1, "float32"))
        d = R.multiply(c, R.const(2, "float32"))
        return d

    @R.function(pure=False)
    def holders(x: R.Tensor((2,), "float32")) -> R.Any:
        a = R.add(x, x)
        m = R.call_packed("kept.map", a, ty_args=(R.Any,))
        q = R.call_packed("kept.bump_map", m, ty_args=(R.Tuple(),))
        c = R.add(a, R.const(1, "float32"))
        f = R.call_packed("kept.closure", a, ty_args=(R.Any,))
        r = R.call_packed("kept.call", f, ty_args=(R.Tuple(),))
        d = R.add(a, c)
        e = R.exp(x)
        return (a, c, d, e)
