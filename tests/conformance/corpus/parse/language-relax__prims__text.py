@R.function
def f(n: R.Prim("int64"), b: R.Prim("bool"), x: R.Prim("float32")) -> R.Prim("int64"):
    a: R.Prim("int64") = n + 1
    c = R.prim_value(n * 2)
    d = T.max(n, 3)
    e: R.Prim("bool") = T.bool(True)
    g = T.Cast("int64", x)
    h = n > 3
    if b:
        r = n
    else:
        r = a
    return r
