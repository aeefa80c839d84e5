@T.prim_func(s_tir=True)
def func():
    T.evaluate(T.exp(1))
