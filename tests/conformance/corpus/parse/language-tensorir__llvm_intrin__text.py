@T.prim_func(s_tir=True)
def ctpop(A: T.Buffer((16,), "uint8"), B: T.Buffer((16,), "uint8")) -> None:
    for i in range(0, 16):
        with T.sblock("A"):
            vi = T.axis.remap("S", [i])
            B[vi] = T.call_llvm_pure_intrin("uint8", T.llvm_lookup_intrinsic_id("llvm.ctpop.i8"), A[vi])
            B[vi] = T.call_llvm_pure_intrin("uint8", "llvm.ctpop.i8", A[vi])
            B[vi] = T.call_llvm_pure_intrin(A[vi], T.llvm_lookup_intrinsic_id("llvm.ctpop.i8"), T.uint32(1), dtype="uint8")
