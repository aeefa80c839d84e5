@T.macro
def inner(A, i):
    A[i] = A[i] + 1.0
@T.macro
def outer(A, n, f):
    for i in range(n):
        f(A, i)
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    outer(A, 4, inner)
    for k in T.serial(4):
        inner(A, k)
