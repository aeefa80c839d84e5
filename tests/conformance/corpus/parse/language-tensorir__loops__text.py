@T.prim_func(s_tir=True)
def f(A: T.Buffer((128,), "float32"), n: T.int32):
    for i in range(128):
        A[i] = 1.0
    for i in range(0, 128, 2):
        A[i] = 1.0
    for i in range(1, n):
        A[i] = 1.0
    for i in T.serial(128):
        A[i] = 1.0
    for i in T.serial(1, 128):
        A[i] = 1.0
    for i in T.serial(0, n):
        A[i] = 1.0
    for i in T.serial(128, annotations={"a": 1}):
        A[i] = 1.0
    for i in T.serial(start=1, stop=5):
        A[i] = 1.0
    for i in T.serial(1, stop=5):
        A[i] = 1.0
    for i in T.parallel(128):
        A[i] = 1.0
    for i in T.vectorized(0, 128):
        A[i] = 1.0
    for i in T.unroll(0, 128, annotations={"b": "c"}):
        A[i] = 1.0
    for i in T.thread_binding(128, thread="threadIdx.x"):
        A[i] = 1.0
    for i in T.thread_binding(0, 128, "threadIdx.y"):
        A[i] = 1.0
    for i in T.thread_binding(0, 128, thread="vthread.x", annotations={"q": 1}):
        A[i] = 1.0
    for i in T.serial(0, 128, step=4):
        A[i] = 1.0
    for i in T.serial(128, unroll=False):
        A[i] = 1.0
    for i in T.serial(128, unroll=4):
        A[i] = 1.0
    for i in T.unroll(128, step=3):
        A[i] = 1.0
    for i in T.grid(128):
        A[i] = 1.0
    for i, j in T.grid(n * 2, n // 3 + 1):
        A[i] = 1.0
    for (i, j) in T.grid(2, 2):
        A[i] = 1.0
    for i in T.serial(-5, 5):
        A[i + 5] = 1.0
    for i in T.serial(T.int64(5)):
        A[i] = 1.0
    for i in T.serial(T.int64(0), T.int64(5)):
        A[i] = 1.0
    for i in range(T.int64(3)):
        A[i] = 1.0
    for i in T.serial(A.shape[0]):
        A[i] = 1.0
    for _ in range(3):
        A[0] = A[0] + 1.0
    for i in T.grid((1, 5)):
        A[i] = 1.0
    while n < 5:
        A[0] = 1.0
    for i in range(5):
        if i == 3:
            continue
        if i == 4:
            break
        A[i] = 1.0
    for i in range(5):
        T.continue_loop()
        T.break_loop()
