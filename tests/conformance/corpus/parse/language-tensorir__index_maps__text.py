@T.prim_func(s_tir=True)
def f(A: T.Buffer((16,), "float32")):
    T.func_attr({"m": T.index_map(lambda i: (i // 4, i % 4)), "layout": T.index_map(lambda i, j: [i, j]), "fn": T.index_map(lambda *i: i)})
    T.evaluate(0)
