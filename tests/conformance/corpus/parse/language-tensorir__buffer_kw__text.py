@T.prim_func
def f(A: T.Buffer((4, 4), "float32", strides=(4, 1)), B: T.Buffer((4,), "float32", elem_offset=2), C: T.Buffer((4,), scope="shared"), D: T.Buffer((4,), align=128), E: T.Buffer((4,), offset_factor=4), F: T.Buffer((4, 4), axis_separators=[1]), n: T.int32, G: T.Buffer((n, "m"), strides=("s0", "s1"), elem_offset="off"), H: T.Buffer(4), I: T.Buffer((), "int32"), J: T.Buffer((4,), buffer_type="auto"), K: T.Buffer(shape=(4,), dtype="int8"), L: T.Buffer([4, 5]), M: T.Buffer((4, 4), "float32", layout=None)):
    T.evaluate(A[0, 0])
