@T.prim_func
def f(A: T.Buffer((8,), "float32")):
    T.evaluate(A[0])
    T.evaluate("str")
    T.evaluate(1.5)
    T.evaluate(T.StringImm("x"))
    T.evaluate(T.IntImm("int8", 1))
    T.evaluate(T.FloatImm("float16", 1))
    T.exp(A[0])
    A[0]
    pass
    "doc"
    ...
