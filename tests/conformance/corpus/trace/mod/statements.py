# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def ops(A: T.Buffer((16, 16), "int32"), B: T.Buffer((16,), "float16"), C: T.Buffer((16,), "bfloat16"), D: T.Buffer((16,), "float8_e4m3fn"), E: T.Buffer((16,), "bool"), F: T.Buffer((16,), "uint8"), H: T.Buffer((16,), "int64"), n: T.int32, x: T.float32):
        T.func_attr({"d": {"a": [], "b": {"c": 100000000000000000000.0}}, "k": 1.5, "l": [1, 2.0, "s", None, True], "tirx.noalias": True})
        for i in range(16):
            A[i, 0] = (i + n) * 2 - (i - n) - (n - (i - 3))
            A[i, 1] = i // 2 % 3 * 4 // (n // 2)
            A[i, 2] = T.Div(i, 3) + T.truncmod(i, 3) + T.Div(i, 2)
            A[i, 3] = T.min(i, T.max(n, 3)) + T.Select(i < 3, i, n) + T.if_then_else(i < 3 and (n > 2 or not i == 4), 1, 0)
            A[i, 4] = T.Cast("int32", B[i]) + T.Cast("int32", C[i] + T.bfloat16(1.5)) + T.shift_left(i, 2) + T.bitwise_and(i, 3) + T.bitwise_not(i)
            E[i] = not i < 3 and (i != 2) == (i >= 4)
            E[i] = T.bool(True)
            F[i] = T.uint8(255)
            H[i] = T.int64(0)
            A[i, 5] = T.Add(3, 4) + T.Mul(n, 1) + T.Sub(n, 0)
            A[i, 6] = 1
        A[0, 0:4] = T.Ramp(0, 1, 4)
        A[0, 0:8:2] = T.Broadcast(3, 4)
        A[0, 0:4] = T.Shuffle([T.Ramp(0, 1, 4)], [0, 1, 2, 3])
        y: T.let[T.float32] = x * T.float32(2.0)
        T.evaluate(y)
        assert n > 3, ("ValueError", ["a", "b"])
        assert n > 3, ("RuntimeError", ["single"])
        while n > 4:
            A[0, 0] = 1
        if n > 3:
            A[0, 0] = 1
        else:
            if n > 2:
                A[0, 1] = 1
            else:
                A[0, 2] = 1
        for i in T.parallel(2, 5):
            for j in T.vectorized(4):
                for k in T.unroll(4, annotations={"pragma": 1}):
                    for l in range(1, 1 + (n - 1), 2):
                        A[i, j] = k + l
        for t in T.thread_binding(4, thread="threadIdx.x"):
            A[t, 0] = 0
        with T.attr(0, "key", 1):
            A[0, 0] = 3
        with T.attr(A.data, "storage_alignment", 16):
            A[0, 0] = 4
            T.call_extern("int32", "f", A.data, T.address_of(A[0, 0]), T.tvm_access_ptr(T.type_annotation("int32"), A.data, 0, 4, 1))
            T.call_packed("g", n, x)
            T.reinterpret("uint32", x)