@T.prim_func(s_tir=True)
def func(a: T.handle, b: T.handle, c: T.Buffer(("n * 2",), "float32"), n: T.int64):
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m * 2), "float32")
    T.evaluate(A[0, 0])
