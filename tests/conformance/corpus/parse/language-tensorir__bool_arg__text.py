@T.prim_func(s_tir=True)
def func(a: T.bool) -> None:
    T.evaluate(a)
