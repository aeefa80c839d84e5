@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor(dtype="float32", ndim=2)) -> R.Object:
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(2),), sinfo_args=(R.Tensor(dtype="int64", ndim=1),))
        _: R.Tuple = R.call_packed("vm.builtin.check_tensor_info", x, R.prim_value(2), R.dtype("float32"), R.str("err"), sinfo_args=(R.Tuple,))
        _1: R.Tuple() = R.call_packed("vm.builtin.match_shape", x, shape_heap, R.prim_value(2), sinfo_args=(R.Tuple(),))
        s: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, sinfo_args=(R.Shape(ndim=2),))
        c = R.invoke_closure(R.null_value(), (x,), sinfo_args=(R.Object,))
        r: R.Callable((R.Object,), R.Object, True) = R.make_closure(Module.g, ())
        return s
    @R.function
    def g(x: R.Object) -> R.Object:
        return x
