# Names that mean something in OpenCL C.
from tvm.script import tirx as T

@T.prim_func
def kernel(half: T.Buffer((32,), "float32"), float4: T.Buffer((32,), "float32"), exp: T.Buffer((32,), "float32")):
    barrier = T.launch_thread("threadIdx.x", 32)
    for int in range(1):
        exp[barrier + int] = T.exp(half[barrier]) + T.max(float4[barrier], T.float32(0))
