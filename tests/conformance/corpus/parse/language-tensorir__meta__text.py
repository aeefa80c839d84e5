@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    N = T.meta_var(8)
    idx = I.meta_var(A[0])
    T.static_assert(N == 8)
    for i in range(N):
        A[i] = T.Cast("float32", N)
