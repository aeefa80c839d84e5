@T.prim_func
def f(a: T.handle):
    A = T.match_buffer(a, (128,), "float32", strides=[1], elem_offset=0, scope="global", align=-1, offset_factor=0, buffer_type="default", axis_separators=[])
    B = T.match_buffer(A[0:4], (4,)) if False else A
    B[0] = 1.0
