@R.function
def f(x: R.Tensor):
    n, m = T.int64(), T.int64()
    a = R.match_cast(x, R.Tensor((n, m), "float32"))
    b = R.match_cast(x, struct_info=R.Tensor((n, m), "float32"))
    c: R.Tensor((n, m), "float32") = R.match_cast(x, R.Tensor((n, m), "float32"))
    s = R.match_cast(R.shape_of(x), R.Shape([n, m]))
    R.match_cast(x, R.Tensor((n, m), "float32"))
    _ = R.match_cast(x, R.Tensor((n, m), "float32"))
    return a
