@R.function
def f(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    if c:
        w = R.add(x, x)
        y = R.multiply(w, w)
    else:
        w = R.multiply(x, x)
        y = R.add(w, w)
    if c:
        if c:
            z = R.add(y, y)
        else:
            z = y
    else:
        z = R.add(x, y)
    if R.const(True):
        q: R.Tensor((2,), "float32") = z
    else:
        q: R.Tensor((2,), "float32") = x
    return q
