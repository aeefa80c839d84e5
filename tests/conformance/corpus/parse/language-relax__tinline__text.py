@T.inline
def m(A, i):
    A[i] = 1.0
@T.prim_func
def f(A: T.Buffer((4,), "float32")):
    @T.inline
    def g(j):
        A[j] = 2.0
    for i in range(4):
        m(A, i)
        g(i)
