@T.prim_func(check_well_formed=False, s_tir=True)
def func():
    data_ptr = T.handle("float32")
    buf = T.decl_buffer(shape=[1], dtype="float32", data=data_ptr)
    T.evaluate(buf[0])
