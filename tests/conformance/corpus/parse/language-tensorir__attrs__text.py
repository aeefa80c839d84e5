@T.prim_func
def f(A: T.Buffer((128,), "float32"), n: T.int32):
    with T.attr(A.data, "storage_alignment", 128):
        A[0] = 1.0
    T.attr(A, "double_buffer", 1)
    T.attr(0, "pragma", "str")
    with T.attr(T.target("cuda"), "target", 0):
        A[1] = 1.0
    with T.attr(T.target({"kind": "cuda"}), "target", 0):
        A[1] = 1.0
    T.attr("default", "async_scope", 1)
    with T.attr(T.iter_var(T.int32(), T.Range(0, 4), "ThreadIndex", "threadIdx.x"), "thread_extent", 4):
        A[0] = 2.0
    with T.attr(n, "key", n + 1):
        A[0] = 2.0
    T.attr({"a": 1, "b": "x"})
    T.evaluate(0)
