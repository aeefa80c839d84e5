@T.prim_func(s_tir=True)
def func(args: T.handle, arg_type_ids: T.handle("int32"), num_args: T.int32, out_ret_value: T.handle("void"), out_ret_tcode: T.handle("int32"), resource_handle: T.handle) -> T.int32:
    assert num_args == 1, "func: num_args should be 1"
    A: T.let[T.handle] = T.tvm_struct_get(args, 0, 12, "handle")
    B: T.let[T.handle("float32", "global")] = T.tvm_struct_get(A, 0, 1, "handle")
    stride: T.let[T.handle("int64")] = T.tvm_struct_get(A, 0, 4, "handle")
    if not T.isnullptr(stride):
        T.evaluate(0)
    assert not T.isnullptr(A), ("ValueError", ["a", "b"])
    with T.attr(0, "compute_scope", "func_compute_"):
        T.evaluate(0)
    return 0
