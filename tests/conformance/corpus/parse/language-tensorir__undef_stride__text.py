@T.prim_func(check_well_formed=False, s_tir=True)
def func():
    stride = T.int32()
    data_ptr = T.handle("float32")
    buf = T.decl_buffer(shape=[1], dtype="float32", data=data_ptr, strides=[stride])
    T.evaluate(buf[0])
