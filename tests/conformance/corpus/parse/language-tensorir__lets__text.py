@T.prim_func
def f(n: T.int32, A: T.Buffer((8,), "float32")):
    a = n + 1
    b: T.let = n * 2
    c: T.let[T.int32] = n - 1
    d: T.let[T.int64] = T.Cast("int64", n)
    e: T.let[T.handle("float32")] = T.address_of(A[0])
    g = A[a] + 1.0
    h = T.meta_var(n + 5)
    A[b] = g
    A[c] = T.Cast("float32", h)
    k = A.data
    x = T.bind(n * 3)
    y = T.bind(n * 3, T.int32)
    z = T.bind(n * 3, type_annotation=T.int32)
    A[x] = 1.0
