@T.prim_func(s_tir=True)
def tir_packed_call() -> None:
    A = T.handle()
    A2: T.let[T.handle] = T.tvm_stack_alloca("array", 1)
    T.evaluate(T.tvm_struct_set(A2, 0, 1, T.int32(5)))
    T.tvm_struct_set(A2, 0, 12, T.int64(5))
    T.evaluate(T.tvm_struct_get(A2, 0, 12, dtype="int64"))
