@T.prim_func
def f(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "int8"), C: T.Buffer((4,), "bool"), D: T.Buffer((4,), "int32")):
    A[0] = 1
    A[1] = 1.5
    B[0] = 1
    C[0] = True
    C[1] = 1
    C[2] = T.bool(True)
    D[0] = C[0]
    D[1] = B[0]
    A[2] = B[0]
    C[0] = D[0]
