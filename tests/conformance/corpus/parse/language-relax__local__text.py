@R.function
def outer(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    @R.function
    def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Primitive": True})
        s = R.add(x, y)
        return s
    @R.function
    def rec(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        t = rec(y)
        return t
    @R.function(pure=False)
    def rec2(y: R.Tensor((2,), "float32")) -> R.Tuple([]):
        R.print(y)
        return R.tuple()
    with R.dataflow():
        @R.function
        def inner2(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                q = R.add(y, y)
                R.output(q)
            return q
        z = inner2(x)
        R.output(z)
    gv = inner(z)
    gv1 = rec(gv)
    return gv1
