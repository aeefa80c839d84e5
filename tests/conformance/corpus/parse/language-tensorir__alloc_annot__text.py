@T.prim_func(s_tir=True)
def f(A: T.Buffer((1,), "float32")):
    t = T.alloc_buffer((802816,), "uint8", annotations={"attr1_key": "attr1_value"})
    for i in T.serial(4, annotations={"pragma_1": 1, "s": "x", "l": [1, 2], "b": True, "f": 1.5, "e": T.int64(3), "none": None}):
        t[i] = T.uint8(0)
