@T.macro
def m(A, i, *args, **kwargs):
    with T.block("x"):
        vi = T.axis.remap("S", [i])
        A[vi] = A[vi] + T.float32(1)

@T.macro(hygienic=False)
def m2():
    A[x] = 2.0

@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    for i in range(4):
        m(A, i)
        m(A, i=i)
    for x in range(4):
        m2()
