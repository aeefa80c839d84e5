@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    T.func_name("g")
    T.func_ret(T.void)
    T.noalias()
    T.evaluate(0)
