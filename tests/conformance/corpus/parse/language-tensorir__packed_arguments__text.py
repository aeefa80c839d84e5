@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(self_handle: T.handle, args: T.handle, num_args: T.int32, result: T.handle) -> T.int32:
        T.func_attr({"calling_conv": 1, "global_symbol": "__tvm_ffi_f"})
        assert num_args == 1, ("TypeError", ["Expected ", "1", " arguments", metadata["tirx.StringImm"][0], "f(x)", "`"])
        kind: T.let[T.int32] = T.tvm_struct_get(args, 0, 13, "int32")
        x: T.let[T.handle] = T.if_then_else(kind == 70, T.handle_add_byte_offset(T.tvm_struct_get(args, 0, 15, T.handle().ty), 24), T.tvm_struct_get(args, 0, 15, T.handle().ty))
        shape: T.let[T.handle("int64", "global")] = T.tvm_struct_get(x, 0, 2, T.handle("int64", "global").ty)
        assert not T.isnullptr(T.reinterpret(T.handle("float32", "global").ty, T.tvm_struct_get(x, 0, 1, T.handle().ty))), ("ValueError", [metadata["tirx.StringImm"][1]])
        return 0
