# from tvm.script import tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(p0: T.handle, p1: T.handle):
        T.func_attr({"calling_conv": 1, "target": T.target({"keys": ["cpu"], "kind": "llvm", "tag": ""}), "tir.is_entry_func": T.bool(True)})
        arg: T.handle = T.tvm_struct_get(p0, 0, 12, "handle")
        code: T.int32 = T.tvm_struct_get(p0, 0, 12, "int32")
        A: T.handle("float32", "global") = T.tvm_struct_get(arg, 0, 1, "handle")
        T.attr(A, "storage_alignment", 64)
        buf = T.decl_buffer((16,), data=A)
        with T.attr("default", "device_id", 0):
            T.attr("default", "device_type", 1)
            with T.attr(0, "compute_scope", "main_compute_"):
                tmp = T.allocate([16], "float32", "global")
                tmp_1 = T.Buffer((16,), data=tmp)
                for i in T.parallel(16):
                    tmp_1[i] = buf[i]
        if T.isnullptr(arg):
            T.evaluate(T.ret(-1))
        T.ret(0)
