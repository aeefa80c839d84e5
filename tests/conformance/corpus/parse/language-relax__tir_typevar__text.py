n = TypeVar("n")
@T.prim_func(s_tir=True)
def f(A: T.Buffer((n, "n + 1"), "float32")):
    for i in range(n):
        A[i, 0] = 1.0
