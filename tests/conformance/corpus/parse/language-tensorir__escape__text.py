@T.prim_func(s_tir=True)
def func():
    T.func_attr({"key1": '"\'hello\t\r"', "k2": "a\\b", "k3": "é"})
    T.evaluate(0)
