# from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((10,), "int32")):
    cse_var_1: T.int32 = A[0] * 2
    x = A[1]
    for i in range(10):
        y: T.int32 = x + i
        A[i] = y + cse_var_1
