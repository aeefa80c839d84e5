@T.prim_func(s_tir=True)
def f(arg_type_ids_handle: T.handle("int32"), packed: T.handle):
    arg_type_ids = T.decl_buffer((2,), dtype="int32", data=arg_type_ids_handle)
    args: T.let[T.handle("int32")] = T.address_of(arg_type_ids[0])
    args2 = T.decl_buffer((1,), "int32", data=args)
    args2[0] = 0
