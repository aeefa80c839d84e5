# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def peek(A: T.Buffer((T.int64(4),), "float32"), i: T.int64, B: T.Buffer((T.int64(1),), "float32")):
        for k in range(T.int64(1)):
            with T.sblock("peek"):
                vk = T.axis.spatial(T.int64(1), k)
                B[vk] = A[i + vk]

    @R.function
    def main(x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor((4, "m"), dtype="float32")) -> R.Tensor(("n", "m"), dtype="float32"):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            lv: R.Tensor((n, m), dtype="float32") = R.matmul(x, w)
            lv1: R.Tensor((n, m), dtype="float32") = R.add(lv, R.const(1.0, "float32"))
            gv: R.Tensor((n, m), dtype="float32") = R.nn.relu(lv1)
            R.output(gv)
        return gv

    @R.function
    def pair(x: R.Tensor(("n",), dtype="float32")) -> R.Tuple(R.Tensor(("n",), dtype="float32"), R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        with R.dataflow():
            lv: R.Tensor((n,), dtype="float32") = R.multiply(x, R.const(2.0, "float32"))
            gv: R.Tuple(R.Tensor((n,), dtype="float32"), R.Tensor((n,), dtype="float32")) = (x, lv)
            R.output(gv)
        return gv

    @R.function
    def first(t: R.Tuple(R.Tensor(("n",), dtype="float32"), R.Tensor(("n",), dtype="float32"))) -> R.Tuple(R.Tensor(("n",), dtype="float32"), R.Tensor(("n",), dtype="float32")):
        n = T.int64()
        a: R.Tensor((n,), dtype="float32") = t[0]
        b: R.Tensor((n,), dtype="float32") = R.add(a, t[1])
        return (a, b)

    @R.function(pure=False)
    def capture(x: R.Tensor((2,), dtype="float32")) -> R.Object:
        @R.function
        def pair_with(y: R.Tensor((2,), dtype="float32"), n: R.Object) -> R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")):
            z = R.add(x, y)
            return (y, z)

        return pair_with

    @R.function(pure=False)
    def wrap(f: R.Object) -> R.Object:
        c = R.call_packed("vm.builtin.make_closure", f, R.prim_value(3), ty_args=(R.Object,))
        return c

    @R.function
    def wide(x: R.Tensor(("n", "n * 2"), dtype="float32")) -> R.Tensor(("n", "n * 2"), dtype="float32"):
        n = T.int64()
        y: R.Tensor((n, n * 2), dtype="float32") = R.add(x, x)
        return y

    @R.function
    def adder(x: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
        @R.function
        def inner(y: R.Tensor((), dtype="float32")) -> R.Tensor((), dtype="float32"):
            s: R.Tensor((), dtype="float32") = R.add(x, y)
            return s

        r: R.Tensor((), dtype="float32") = inner(R.const(5.0, "float32"))
        return r

    @R.function
    def choose(c: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        if c:
            y: R.Tensor((2,), dtype="float32") = R.add(x, x)
        else:
            y: R.Tensor((2,), dtype="float32") = R.multiply(x, x)
        return y

    @R.function
    def down(n: R.Tensor((), dtype="int64")) -> R.Tensor((), dtype="int64"):
        done: R.Tensor((), dtype="bool") = R.less_equal(n, R.const(0, "int64"))
        if done:
            r: R.Tensor((), dtype="int64") = n
        else:
            less: R.Tensor((), dtype="int64") = R.subtract(n, R.const(1, "int64"))
            r: R.Tensor((), dtype="int64") = Module.down(less)
        return r

    @R.function(pure=False)
    def host(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.call_packed("host.twice", x, ty_args=(R.Tensor((2,), dtype="float32"),))
        return y

    @R.function
    def at(x: R.Tensor((4,), dtype="float32"), s: R.Shape(["i"])) -> R.Tensor((1,), dtype="float32"):
        i = T.int64()
        cls = Module
        y = R.call_tir(cls.peek, (x, i), out_ty=R.Tensor((1,), dtype="float32"))
        return y

    @R.function(pure=False)
    def cache(x: R.Tensor((1, 2), dtype="float32")) -> R.Tensor((2, 2), dtype="float32"):
        c: R.Object = R.call_packed("vm.builtin.attention_kv_cache_create", x, R.shape([4, 2]), R.prim_value(0), ty_args=(R.Object,))
        c1: R.Object = R.call_packed("vm.builtin.attention_kv_cache_append", c, x, ty_args=(R.Object,))
        c2: R.Object = R.call_packed("vm.builtin.attention_kv_cache_append", c1, x, ty_args=(R.Object,))
        y = R.call_packed("vm.builtin.attention_kv_cache_view", c2, R.shape([2, 2]), ty_args=(R.Tensor((2, 2), dtype="float32"),))
        return y
