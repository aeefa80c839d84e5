# Narrow floats, integers that wrap, floor division of negative numbers, conversions, conditions.
from tvm.script import tirx as T

@T.prim_func
def half(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float16"), C: T.Buffer((64,), "float16")):
    tx = T.launch_thread("threadIdx.x", 64)
    C[tx] = A[tx] * B[tx] + A[tx] / (B[tx] + T.float16(0.5))

@T.prim_func
def brain(A: T.Buffer((64,), "bfloat16"), B: T.Buffer((64,), "bfloat16"), C: T.Buffer((64,), "bfloat16")):
    tx = T.launch_thread("threadIdx.x", 64)
    C[tx] = A[tx] * B[tx] - B[tx]

@T.prim_func
def wrapped(A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int8"), D: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    C[tx] = A[tx] * T.int8(77) + T.int8(100)
    D[tx] = (B[tx] + 2147483647) * 65537 // 7 + B[tx] % -5 + T.truncmod(B[tx], 3)

@T.prim_func
def chosen(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "bool"), C: T.Buffer((64,), "int64"), D: T.Buffer((64,), "uint8")):
    tx = T.launch_thread("threadIdx.x", 64)
    B[tx] = A[tx] > T.float32(0) and tx < 40
    C[tx] = T.Cast("int64", A[tx] * T.float32(1e19))
    D[tx] = T.Cast("uint8", T.if_then_else(tx < 32, T.max(A[tx], T.float32(0)), T.floor(A[tx]) - T.float32(3)))

@T.prim_func
def bits(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "uint32"), C: T.Buffer((64,), "int32")):
    tx = T.launch_thread("threadIdx.x", 64)
    C[tx] = T.bitwise_xor(T.shift_left(A[tx], 5), T.shift_right(A[tx], 1)) + T.popcount(A[tx]) + T.clz(A[tx])
    B[tx] = T.bitwise_and(T.reinterpret("uint32", T.Cast("float32", A[tx])), T.uint32(0xFFFF0000))
