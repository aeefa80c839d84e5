# The elementary functions whose bits are those of the evaluator.
from tvm.script import tirx as T

@T.prim_func
def functions(A: T.Buffer((256,), "float32"), B: T.Buffer((256, 12), "float32")):
    bx = T.launch_thread("blockIdx.x", 4)
    tx = T.launch_thread("threadIdx.x", 64)
    B[bx * 64 + tx, 0] = T.exp(A[bx * 64 + tx] * T.float32(20))
    B[bx * 64 + tx, 1] = T.exp2(A[bx * 64 + tx])
    B[bx * 64 + tx, 2] = T.exp10(A[bx * 64 + tx])
    B[bx * 64 + tx, 3] = T.log(A[bx * 64 + tx])
    B[bx * 64 + tx, 4] = T.tanh(A[bx * 64 + tx])
    B[bx * 64 + tx, 5] = T.erf(A[bx * 64 + tx])
    B[bx * 64 + tx, 6] = T.sigmoid(A[bx * 64 + tx])
    B[bx * 64 + tx, 7] = T.sin(A[bx * 64 + tx])
    B[bx * 64 + tx, 8] = T.cos(A[bx * 64 + tx] * T.float32(1000))
    B[bx * 64 + tx, 9] = T.pow(A[bx * 64 + tx], T.float32(3))
    B[bx * 64 + tx, 10] = T.rsqrt(T.abs(A[bx * 64 + tx])) + T.sqrt(T.abs(A[bx * 64 + tx]))
    B[bx * 64 + tx, 11] = T.nearbyint(A[bx * 64 + tx]) + T.trunc(A[bx * 64 + tx]) + T.ceil(A[bx * 64 + tx])
