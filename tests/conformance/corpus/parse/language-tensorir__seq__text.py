@T.prim_func(s_tir=True)
def func():
    T.evaluate(T.int32(0))
    T.evaluate(T.int32(1))
    T.evaluate(T.int32(2))
