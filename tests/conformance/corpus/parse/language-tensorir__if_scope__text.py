@T.prim_func
def f(n: T.int32, A: T.Buffer((4,), "int32")):
    if n > 0:
        if n > 1:
            A[0] = 1
        else:
            A[0] = 2
    elif n == 0 or n == -1:
        A[0] = 3
    else:
        pass
    if T.likely(n < 4):
        A[0] = 1
    if not n == 3:
        A[1] = 1
    A[2] = 1 if n > 3 else 2
