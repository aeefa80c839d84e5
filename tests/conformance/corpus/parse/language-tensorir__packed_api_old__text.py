@T.prim_func
def test(args: T.handle, out: T.handle, n: T.int32) -> T.int32:
    assert n == 1
    ptr: T.handle("float32", "global") = T.tvm_struct_get(args, 0, 12, "handle")
    buf = T.decl_buffer((16,), data=ptr)
    buf[0] = 1.0
    T.ret(0)
