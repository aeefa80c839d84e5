# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis

m = TypeVar("m")
n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def blocks(A: T.Buffer((n, "n * T.int64(2)", m), "float32"), p: T.handle("float32", "shared"), B: T.Buffer((8,), "float32", strides=(2,), elem_offset=4, scope="shared", align=128, offset_factor=2), k: T.int32, Z: T.Buffer((), "float32"), W: T.Buffer((k, k + 1), "int8")):
        with T.sblock("root"):
            T.reads(A[T.int64(0):n, 0:4, 0])
            T.writes()
            T.sblock_attr({"a": 1, "b": [1, 2]})
            C = T.sblock_alloc_buffer((n, 4), "float16", scope="local")
            for i, j, r in T.grid(n, m, 4):
                with T.sblock("b"):
                    vi, vj, vr = T.axis.remap("SSR", [i, j, r])
                    vo = T.axis.opaque((2, 6), r + 2)
                    vs = T.axis.scan(4, r)
                    T.where(i < T.int64(3) and j > T.int64(2))
                    T.reads(A[vi, 0:4, vj], Z[()])
                    T.writes(C[vi, vr])
                    with T.init():
                        C[vi, vr] = T.float16(0.0)
                    C[vi, vr] = C[vi, vr] + T.Cast("float16", A[vi, 0, vj])
                    with T.sblock("c", no_realize=True):
                        T.reads()
                        T.writes()
                        Z[()] = T.float32(1.0)
            for i in T.serial(4, annotations={"x": "y", "z": T.int64(3)}):
                with T.sblock("d"):
                    v = T.axis.spatial(4, i)
                    T.reads(Z[()])
                    T.writes(B[0])
                    D = T.match_buffer(B[0:8], (8,), offset_factor=1)
                    D[0] = Z[()]

    @T.prim_func(s_tir=True)
    def flat(A: T.Buffer(("n", "m"), "float32"), B: T.Buffer((n,), "float32", strides=(m,))):
        n, m = T.int32(), T.int32()
        X = T.alloc_local((4,))
        Y = T.alloc_buffer((4,), annotations={"q": 1})
        P = T.decl_buffer((2, 2), data=X.data)
        with T.launch_thread("blockIdx.x", 4) as bx:
            with T.launch_thread("threadIdx.x", 8) as tx:
                P[0, 0] = A[bx, tx]
            with T.launch_thread("threadIdx.x", 8) as tx:
                P[0, 1] = A[bx, tx]
                T.tvm_storage_sync("shared")

    @T.prim_func(private=True, s_tir=True)
    def ret(a: T.int32) -> T.int32:
        return a * 2