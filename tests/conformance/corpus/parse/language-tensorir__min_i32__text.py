@T.prim_func(s_tir=True)
def func() -> None:
    T.evaluate(T.int32(-2147483648))
    T.evaluate(-T.int64(2147483648))
    T.evaluate(-2147483648)
    T.evaluate(T.int64(-9223372036854775808))
