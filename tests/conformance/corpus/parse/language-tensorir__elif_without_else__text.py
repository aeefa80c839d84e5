@T.prim_func(s_tir=True)
def func(i: T.int32) -> None:
    if i == 0:
        T.evaluate(0)
    elif i == 1:
        T.evaluate(1)
    elif i == 2:
        T.evaluate(2)
