@T.prim_func(s_tir=True)
def func(A: T.Buffer(1, "bool"), i: T.bool, j: T.bool, k: T.bool):
    A[0] = i and j and k
    A[0] = i and (j or k)
    A[0] = (i and j) or k
    A[0] = i or j and not k
    A[0] = not (i and j)
    A[0] = not i or not j
    A[0] = T.And(i, T.Or(j, k))
    A[0] = (i or j) and k
