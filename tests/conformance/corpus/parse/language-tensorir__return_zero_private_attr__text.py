@T.prim_func(private=True, s_tir=True)
def func() -> T.int32:
    T.func_attr({"greeting": "hello"})
    T.ret(0)
