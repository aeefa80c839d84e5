@T.prim_func
def f(A: T.Buffer((128,), "float32")):
    bx = T.int32()
    with T.attr(T.iter_var(bx, None, "ThreadIndex", "blockIdx.x"), "thread_extent", 128):
        A[bx] = 1.0
    with T.attr(T.iter_var(bx, T.Range(0, 4), "ThreadIndex", "blockIdx.x"), "thread_extent", 4):
        A[bx] = 1.0
