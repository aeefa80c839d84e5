@T.prim_func(s_tir=True)
def func() -> None:
    T.evaluate(True)
    T.evaluate(False)
