N = 4
names = ["a", "b"]
shape = (4, 8)
dt = "float32"
@T.prim_func(s_tir=True)
def f(A: T.Buffer((N, N * 2), dt), B: T.Buffer(shape, dtype=dt)):
    for i in range(N):
        A[i, 0] = T.Cast(dt, i)
    if N == 4:
        A[0, 0] = 1.0
    else:
        A[0, 0] = 2.0
