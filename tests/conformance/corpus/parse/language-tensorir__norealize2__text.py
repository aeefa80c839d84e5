@T.prim_func(s_tir=True, check_well_formed=False)
def f(A: T.Buffer((16,), "float32")):
    with T.sblock("b", no_realize=True):
        vi = T.axis.spatial(16)
        T.reads()
        T.writes(A[vi])
        A[vi] = 1.0
