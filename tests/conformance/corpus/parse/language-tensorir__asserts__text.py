@T.prim_func
def f(n: T.int32, A: T.Buffer((8,), "float32")):
    assert n > 0, "n must be positive"
    assert n > 0, ("TypeError", ["a", "b", "c"])
    assert n > 0, ("ValueError", "msg")
    assert n > 0
    with T.Assert(n > 0, "x"):
        A[0] = 1.0
    T.Assert(n > 0, "y")
    A[1] = 2.0
    assert T.likely(n < 3) and n > 2, f"plain"
