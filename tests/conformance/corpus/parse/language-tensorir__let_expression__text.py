@T.prim_func(s_tir=True)
def func():
    x = T.int32()
    T.evaluate(T.Let(x + 1, where={x: 1}))
