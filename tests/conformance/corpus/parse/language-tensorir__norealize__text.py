@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32")):
    with T.sblock("root", no_realize=True):
        T.reads()
        T.writes()
        A[0] = 1.0
