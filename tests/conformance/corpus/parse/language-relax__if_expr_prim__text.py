@R.function
def f(x: R.Tensor(["N"], "float32")):
    N = T.int64()
    if N <= 16:
        y = R.add(x, x)
    else:
        y = R.multiply(x, x)
    return y
