@R.function(private=True)
def func(x: R.Tensor(ndim=1, dtype="float32")):
    n = T.int64()
    i: R.Prim("int32") = 2
    u: R.Prim("uint8") = 200
    h: R.Prim("float16") = 1.5
    f: R.Prim("float64") = 3
    y = (R.match_cast(x, R.Tensor((n,), "float32")))
    z: R.Tensor((n,), "float32") = (R.add(y, y))
    return (i, u, h, f, z)
