from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def flat(A: T.Buffer((16,), "float32"), B: T.Buffer((T.int64(4), 4), "int8"), x: T.int32, c: T.bool):
        assert x > 3, "too small"
        v: T.int32 = x + 1
        for i, j in T.grid(4, 4):
            for k in T.serial(4, annotations={"a": 1}):
                A[i * 4 + k] = T.float32(j + v)
        with T.attr(A.data, "key", 1):
            A[0] = T.float32(2)
        while c:
            A[1] = T.exp(A[2])
        if c:
            A[2] = T.float32(1)
        else:
            T.evaluate(T.call_extern("int32", "f", A.data))
    @R.function(pure=False)
    def main(x: R.Tensor(("a", "b", "a * b + 1"), "float32"), s: R.Shape(["a", "b"]), t: R.Shape(ndim=2), p: R.Prim("int64"), f: R.Callable((R.Tensor,), R.Object, False), g: R.Tuple(R.Tensor(ndim=1), R.Tuple)) -> R.Tensor(("a * 2",), "float32"):
        R.func_attr({"num_input": 1})
        a = T.int64()
        b = T.int64()
        lv: R.Tensor((a * 2,), dtype="float32") = R.call_packed("f", x, R.prim_value(a * 2), R.prim_value(p), sinfo_args=(R.Tensor((a * 2,), dtype="float32"),))
        k: R.Tuple(R.Prim("int64"), R.Tensor) = (p, x)
        n: R.Prim("int64") = R.prim_value(a + b)
        m: R.Prim("bool") = R.prim_value(True)
        o = R.match_cast(t, R.Shape([a, b]))
        if m:
            q = R.add(lv, lv)
        else:
            q = lv
        return q
