@R.function
def outer(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    n = T.int64()
    @R.function
    def inner(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
        return R.add(y, y)
    @R.function
    def inner3(y: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
        m = T.int64()
        w: R.Tensor((m,), "float32") = R.add(y, y)
        return w
    return inner(x)
