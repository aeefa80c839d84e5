@R.function
def f(c: R.Prim("bool"), x: R.Tensor((2,), "float32")):
    if c:
        y: R.Tensor((2,), "float32") = x
    elif c:
        y = R.add(x, x)
    else:
        y = R.multiply(x, x)
    return y
