@T.prim_func(s_tir=True)
def func() -> None:
    if True:
        T.evaluate(0)
    else:
        T.evaluate(1)
