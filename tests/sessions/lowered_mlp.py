# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.tirx.layout import Axis
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def divide(b: T.Buffer((n, T.int64(3)), "float32"), s: T.Buffer((n, T.int64(1)), "float32"), T_divide: T.Buffer((n, T.int64(3)), "float32")):
        T.func_attr({"op_pattern": 0, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1 in T.grid(n, T.int64(3)):
            with T.sblock("T_divide"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(b[v_ax0, v_ax1], s[v_ax0, T.int64(0)])
                T.writes(T_divide[v_ax0, v_ax1])
                T_divide[v_ax0, v_ax1] = b[v_ax0, v_ax1] / s[v_ax0, T.int64(0)]

    @T.prim_func(s_tir=True)
    def fused_matmul_relu(x: T.Buffer((n, T.int64(4)), "float32"), w: T.Buffer((T.int64(4), T.int64(3)), "float32"), compute_intermediate: T.Buffer((n, T.int64(3)), "float32")):
        T.func_attr({"tirx.noalias": True})
        # with T.sblock("root"):
        matmul_intermediate = T.sblock_alloc_buffer((n, T.int64(3)))
        for ax0, ax1, k in T.grid(n, T.int64(3), T.int64(4)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(x[v_ax0, v_k], w[v_k, v_ax1])
                T.writes(matmul_intermediate[v_ax0, v_ax1])
                with T.init():
                    matmul_intermediate[v_ax0, v_ax1] = T.float32(0.0)
                matmul_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + x[v_ax0, v_k] * w[v_k, v_ax1]
        for ax0, ax1 in T.grid(n, T.int64(3)):
            with T.sblock("compute"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.reads(matmul_intermediate[v_ax0, v_ax1])
                T.writes(compute_intermediate[v_ax0, v_ax1])
                compute_intermediate[v_ax0, v_ax1] = T.max(matmul_intermediate[v_ax0, v_ax1], T.float32(0.0))

    @T.prim_func(s_tir=True)
    def matmul1(y: T.Buffer((n, T.int64(3)), "float32"), v: T.Buffer((T.int64(3), T.int64(3)), "float32"), matmul: T.Buffer((n, T.int64(3)), "float32")):
        T.func_attr({"op_pattern": 4, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k in T.grid(n, T.int64(3), T.int64(3)):
            with T.sblock("matmul"):
                v_ax0, v_ax1, v_k = T.axis.remap("SSR", [ax0, ax1, k])
                T.reads(y[v_ax0, v_k], v[v_k, v_ax1])
                T.writes(matmul[v_ax0, v_ax1])
                with T.init():
                    matmul[v_ax0, v_ax1] = T.float32(0.0)
                matmul[v_ax0, v_ax1] = matmul[v_ax0, v_ax1] + y[v_ax0, v_k] * v[v_k, v_ax1]

    @T.prim_func(s_tir=True)
    def shape_func(H: T.Buffer((T.int64(3),), "int64")):
        T.func_attr({"tirx.is_host_func": True})
        H[T.int64(1)] = T.int64(12) * H[T.int64(0)]
        H[T.int64(2)] = T.int64(4) * H[T.int64(0)]

    @T.prim_func(s_tir=True)
    def sum(b: T.Buffer((n, T.int64(3)), "float32"), b_red: T.Buffer((n, T.int64(1)), "float32")):
        T.func_attr({"op_pattern": 3, "tirx.noalias": True})
        # with T.sblock("root"):
        for ax0, ax1, k1 in T.grid(n, T.int64(1), T.int64(3)):
            with T.sblock("b_red"):
                v_ax0, v_ax1, v_k1 = T.axis.remap("SSR", [ax0, ax1, k1])
                T.reads(b[v_ax0, v_k1])
                T.writes(b_red[v_ax0, v_ax1])
                with T.init():
                    b_red[v_ax0, v_ax1] = T.float32(0.0)
                b_red[v_ax0, v_ax1] = b_red[v_ax0, v_ax1] + b[v_ax0, v_k1]

    @R.function
    def main(x: R.Tensor((n, 4), dtype="float32"), w: R.Tensor((4, 3), dtype="float32"), v: R.Tensor((3, 3), dtype="float32")) -> R.Tensor((n, 3), dtype="float32"):
        R.func_attr({"relax.force_pure": True})
        cls = Module
        shape_heap: R.Tensor(dtype="int64", ndim=1) = R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (3,), ty_args=(R.Tensor(dtype="int64", ndim=1),))
        R.call_packed("vm.builtin.check_tensor_info", x, 2, R.dtype("float32"), R.str("ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", w, 2, R.dtype("float32"), R.str("ErrorContext(fn=main, loc=param[1], param=w, annotation=R.Tensor((4, 3), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.check_tensor_info", v, 2, R.dtype("float32"), R.str("ErrorContext(fn=main, loc=param[2], param=v, annotation=R.Tensor((3, 3), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", x, shape_heap, 2, 1, 0, 0, 4, R.str("ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((n, 4), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", w, shape_heap, 2, 0, 4, 0, 3, R.str("ErrorContext(fn=main, loc=param[1], param=w, annotation=R.Tensor((4, 3), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        R.call_packed("vm.builtin.match_shape", v, shape_heap, 2, 0, 3, 0, 3, R.str("ErrorContext(fn=main, loc=param[2], param=v, annotation=R.Tensor((3, 3), dtype=\"float32\")) "), ty_args=(R.Tuple,))
        cls.shape_func(shape_heap)
        shape: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage: R.Any = R.vm.alloc_storage(shape, 0, R.dtype("uint8"), R.str("global"))
        shape_1: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 3, ty_args=(R.Shape(ndim=2),))
        alloc: R.Tensor((n, 3), dtype="float32") = R.vm.alloc_tensor(storage, 0, shape_1, R.dtype("float32"), 0)
        cls.fused_matmul_relu(x, w, alloc)
        shape_2: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 2, ty_args=(R.Shape(ndim=1),))
        storage_1: R.Any = R.vm.alloc_storage(shape_2, 0, R.dtype("uint8"), R.str("global"))
        shape_3: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 1, ty_args=(R.Shape(ndim=2),))
        alloc_1: R.Tensor((n, 1), dtype="float32") = R.vm.alloc_tensor(storage_1, 0, shape_3, R.dtype("float32"), 0)
        R.vm.kill_object(storage_1)
        cls.sum(alloc, alloc_1)
        shape_4: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage_2: R.Any = R.vm.alloc_storage(shape_4, 0, R.dtype("uint8"), R.str("global"))
        shape_5: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 3, ty_args=(R.Shape(ndim=2),))
        alloc_2: R.Tensor((n, 3), dtype="float32") = R.vm.alloc_tensor(storage_2, 0, shape_5, R.dtype("float32"), 0)
        R.vm.kill_object(storage_2)
        cls.divide(alloc, alloc_1, alloc_2)
        R.vm.kill_object(alloc)
        R.vm.kill_object(alloc_1)
        shape_6: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 3, ty_args=(R.Shape(ndim=2),))
        alloc_3: R.Tensor((n, 3), dtype="float32") = R.vm.alloc_tensor(storage, 0, shape_6, R.dtype("float32"), 0)
        R.vm.kill_object(storage)
        cls.matmul1(alloc_2, v, alloc_3)
        R.vm.kill_object(alloc_2)
        shape_7: R.Shape(ndim=1) = R.call_packed("vm.builtin.make_shape", shape_heap, 1, 1, 1, ty_args=(R.Shape(ndim=1),))
        storage_3: R.Any = R.vm.alloc_storage(shape_7, 0, R.dtype("uint8"), R.str("global"))
        shape_8: R.Shape(ndim=2) = R.call_packed("vm.builtin.make_shape", shape_heap, 2, 1, 0, 0, 3, ty_args=(R.Shape(ndim=2),))
        alloc_4: R.Tensor((n, 3), dtype="float32") = R.vm.alloc_tensor(storage_3, 0, shape_8, R.dtype("float32"), 0)
        R.vm.kill_object(storage_3)
        cls.matmul1(alloc_3, v, alloc_4)
        R.vm.kill_object(alloc_3)
        return alloc_4