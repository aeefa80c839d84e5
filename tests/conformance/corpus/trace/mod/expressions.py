# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), p: T.handle, q: T.handle("float16"), r: T.handle("int8", "shared"), f: T.Buffer((4, 4), "float32")):
        with T.sblock("root"):
            T.reads()
            T.writes()
            A.vstore([T.Ramp(0, 1, 4)], A.vload([T.Ramp(0, 1, 4)], predicate=T.Broadcast(T.bool(True), 4)), predicate=T.Broadcast(T.bool(True), 4))
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))):
                B[0] = T.exp(A[0]) + T.pow(A[1], T.float32(2.0)) + T.call_pure_extern("float32", "sinf", A[0]) + T.call_llvm_pure_intrin("float32", "llvm.sqrt", A[0])
                B[1] = A[0]
                B[2] = T.float32("inf")
                x: T.let[T.float32] = T.float32(1.0) + A[0]
                B[3] = x
                B[4] = A[0] * T.float32(-1.0)
                B[5] = A[0] / A[1] * (A[2] / A[3])
                B[6] = T.if_then_else(A[0] < A[1] and not (A[1] < A[2] or A[2] >= A[3]), A[0], A[1])
                B[7] = T.Select((A[0] < A[1]) == (A[1] < A[2]), A[0], A[1])

    @T.prim_func(s_tir=True)
    def g(a: T.int32, b: T.uint64, c: T.float16, d: T.bool, e: T.int8):
        T.func_attr({"global_symbol": "other", "target": T.target({"keys": ["cpu"], "kind": "llvm"}), "tirx.is_entry_func": True})
        T.call_packed("x", a, b, c, d, e, "str\"\\\n", T.int64(-5), T.uint64(18446744073709551615))
        if d:
            T.evaluate(0)
        if not d:
            Module.h(a)
        while d:
            T.break_loop()
        for i in range(10):
            if i == 3:
                T.continue_loop()
            v: T.let[T.int32] = i + 1
            T.evaluate(v)

    @T.prim_func(private=True, s_tir=True)
    def h(a: T.int32):
        T.evaluate(a)