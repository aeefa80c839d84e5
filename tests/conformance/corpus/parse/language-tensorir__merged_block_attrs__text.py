@T.prim_func(s_tir=True)
def f():
    with T.sblock():
        T.sblock_attr({"key": {"key1": "block1"}, "same": 1})
        T.sblock_attr({"key": {"key2": "block2", "key1": "block1"}, "same": 1})
        T.sblock_attr({"other": [1, 2]})
        T.evaluate(0)
