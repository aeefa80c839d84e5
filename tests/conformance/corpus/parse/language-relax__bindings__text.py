@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2, 3), "float32"), b: R.Tensor((), "bool"), p: R.Prim("int64")) -> R.Tensor:
        a: R.Tensor((2, 3), "float32") = R.add(x, x)
        c = a
        d: R.Tensor((2, 3), "float32") = c
        _ = R.print(x, format="x: {}")
        R.print(x, x)
        R.print(format="hi")
        R.assert_op(b, x, format="oops {}")
        R.assert_op(R.const(True), format=R.str("z"))
        R.assert_op(R.const(True))
        e = (x, a)
        f = (x,)
        g = R.tuple(x, a)
        h = R.tuple()
        i = e[0]
        j: R.Tensor((2, 3), "float32") = e[1]
        k = R.shape([2, 3])
        l = R.str("hello")
        m = R.dtype("float32")
        n = R.prim_value(1)
        o: T.int64 = p + 1
        q = R.prim_value(p * 2)
        r = R.const(1.5, "float32")
        s = R.const([[1, 2], [3, 4]], "int8")
        t = R.const([1.0, 2.0])
        u = R.const(True)
        v = R.const(True, "bool")
        w = R.const(3)
        y = R.const(-1, dtype="int64")
        z = R.null_value()
        aa = x + a
        bb = x * 2.0
        cc = -x
        dd = x < a
        ee = x + R.const(1, "float32")
        ff = x - a / x
        gg = x ** a
        hh = x // a
        ii = x % a
        jj = R.add(x, R.multiply(x, x))
        kk = x.astype("float16")
        (ll, mm) = e
        nn, oo = e
        pp = R.match_cast(x, R.Tensor((2, 3)))
        qq = R.match_cast(k, R.Shape([2, 3]))
        rr = R.match_cast(e, R.Tuple(R.Tensor((2, 3)), R.Tensor))
        ss = R.match_cast(z, R.Any)
        x = R.add(x, x)
        x = R.add(x, x)
        tt = None
        uu = 1
        vv = 1.5
        ww = "str"
        xx = ()
        yy = (1, 2.0, "s")
        return x
