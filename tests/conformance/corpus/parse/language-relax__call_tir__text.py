@I.ir_module(s_tir=True)
class Module:
    @T.prim_func
    def k(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("b"):
                vi = T.axis.spatial(T.int64(4), i)
                B[vi] = A[vi]
    @T.prim_func
    def k2(A: T.Buffer((T.int64(4),), "float32"), n: T.int64, B: T.Buffer((T.int64(4),), "float32"), C: T.Buffer((T.int64(4),), "float32")):
        T.evaluate(0)
    @T.prim_func
    def k3(var_A: T.handle, var_B: T.handle):
        n = T.int64()
        A = T.match_buffer(var_A, (n,), "float32")
        B = T.match_buffer(var_B, (n,), "float32")
        T.evaluate(0)
    @R.function(pure=False)
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor(("m",), "float32")):
        m = T.int64()
        cls = Module
        a = R.call_tir(cls.k, (x,), out_ty=R.Tensor((4,), dtype="float32"))
        b = R.call_tir(cls.k, x, out_ty=R.Tensor((4,), dtype="float32"))
        c = R.call_tir(Module.k, [x], R.Tensor((4,), dtype="float32"))
        d = R.call_tir(cls.k2, (x, m), out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")])
        d1 = R.call_tir(cls.k2, (x, R.prim_value(1)), out_ty=(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32")))
        e = R.call_tir(cls.k3, (y,), out_ty=R.Tensor((m,), dtype="float32"))
        f = R.call_tir_inplace(cls.k, (x,), out_ty=R.Tensor((4,), dtype="float32"), inplace_indices=[-1]) if False else x
        g = R.call_tir_with_grad(cls.k, (x,), out_ty=R.Tensor((4,), dtype="float32"), te_grad_name="g", te_grad_kwargs={"k": 1.0})
        h = R.call_dps_packed("ext", (x,), out_ty=R.Tensor((4,), dtype="float32"))
        i = R.call_dps_packed("ext", x, out_ty=[R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="int8")])
        j = R.call_packed("ext", x, y, ty_args=R.Tensor((4,), "float32"))
        j1 = R.call_packed("ext", x, ty_args=(R.Tensor((4,), "float32"),))
        j2 = R.call_packed("ext", x, ty_args=[R.Tensor])
        j3 = R.call_packed("ext", x)
        j4: R.Tensor = R.call_packed("ext", x, ty_args=[R.Tensor])
        k = R.call_pure_packed("ext", x, ty_args=(R.Tensor(ndim=1),))
        l = R.call_inplace_packed("ext", x, inplace_indices=[0], ty_args=(R.Tensor((4,), "float32"),))
        l2 = R.call_inplace_packed("ext", x, y, inplace_indices=[0, -1], ty_args=[R.Tensor((4,), "float32"), R.Tensor])
        n = R.call_builtin_with_ctx("vm.builtin.x", (x,), ty_args=(R.Tensor((4,), "float32"),))
        n2 = R.call_builtin_with_ctx("vm.builtin.x", (), ty_args=[R.Any])
        o = R.call_py_func("pf", (x,), out_ty=R.Tensor((4,), "float32"))
        q = R.vm.call_tir_dyn(cls.k3, (y, R.shape([m])))
        return a
