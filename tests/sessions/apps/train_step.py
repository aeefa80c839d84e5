# from tvm.script import ir as I
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"optim_state": metadata["ffi.Array"][0]})
    @R.function
    def SGD(params: R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")), gradients: R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")), optim_states: R.Tuple(R.Tensor((), dtype="int64"), R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")), R.Tuple(R.Tensor((), dtype="int64"), R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))):
        with R.dataflow():
            num_steps: R.Tensor((), dtype="int64") = optim_states[0]
            num_steps_new: R.Tensor((), dtype="int64") = R.add(num_steps, R.const(1, "int64"))
            w: R.Tensor((3, 4), dtype="float32") = params[0]
            w_grad: R.Tensor((3, 4), dtype="float32") = gradients[0]
            w_v: R.Tensor((3, 4), dtype="float32") = optim_states[1]
            lv: R.Tensor((3, 4), dtype="float32") = R.multiply(R.const(0.0099999997764825821, "float32"), w)
            w_grad_new: R.Tensor((3, 4), dtype="float32") = R.add(lv, w_grad)
            lv1: R.Tensor((3, 4), dtype="float32") = R.multiply(R.const(0.89999997615814209, "float32"), w_v)
            w_v_new: R.Tensor((3, 4), dtype="float32") = R.add(lv1, w_grad_new)
            lv2: R.Tensor((3, 4), dtype="float32") = R.multiply(R.const(0.10000000149011612, "float32"), w_v_new)
            w_new: R.Tensor((3, 4), dtype="float32") = R.subtract(w, lv2)
            b: R.Tensor((4,), dtype="float32") = params[1]
            b_grad: R.Tensor((4,), dtype="float32") = gradients[1]
            b_v: R.Tensor((4,), dtype="float32") = optim_states[2]
            lv3: R.Tensor((4,), dtype="float32") = R.multiply(R.const(0.0099999997764825821, "float32"), b)
            b_grad_new: R.Tensor((4,), dtype="float32") = R.add(lv3, b_grad)
            lv4: R.Tensor((4,), dtype="float32") = R.multiply(R.const(0.89999997615814209, "float32"), b_v)
            b_v_new: R.Tensor((4,), dtype="float32") = R.add(lv4, b_grad_new)
            lv5: R.Tensor((4,), dtype="float32") = R.multiply(R.const(0.10000000149011612, "float32"), b_v_new)
            b_new: R.Tensor((4,), dtype="float32") = R.subtract(b, lv5)
            params_new: R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")) = w_new, b_new
            optim_states_new: R.Tuple(R.Tensor((), dtype="int64"), R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")) = num_steps_new, w_v_new, b_v_new
            R.output(params_new, optim_states_new)
        return (params_new, optim_states_new)

    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"), b: R.Tensor((4,), dtype="float32"), targets: R.Tensor((2,), dtype="int64"), states: R.Tuple(R.Tensor((), dtype="int64"), R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))) -> R.Tuple(R.Tensor((), dtype="float32"), R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))):
        cls = Module
        r: R.Tuple(R.Tensor((), dtype="float32"), R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))) = cls.loss_adjoint(x, w, b, targets)
        g: R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")) = r[1]
        loss: R.Tensor((), dtype="float32") = r[0]
        s: R.Tuple(R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")), R.Tuple(R.Tensor((), dtype="int64"), R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))) = cls.SGD((w, b), g, states)
        p: R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32")) = s[0]
        return (loss, p)

    @R.function
    def loss_adjoint(x: R.Tensor((2, 3), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"), b: R.Tensor((4,), dtype="float32"), targets: R.Tensor((2,), dtype="int64")) -> R.Tuple(R.Tensor((), dtype="float32"), R.Tuple(R.Tensor((3, 4), dtype="float32"), R.Tensor((4,), dtype="float32"))):
        with R.dataflow():
            lv: R.Tensor((2, 4), dtype="float32") = R.matmul(x, w, out_dtype="void")
            lv1: R.Tensor((2, 4), dtype="float32") = R.add(lv, b)
            lv2: R.Tensor((2, 4), dtype="float32") = R.nn.log_softmax(lv1, axis=-1)
            gv: R.Tensor((), dtype="float32") = R.nn.nll_loss(lv2, targets, reduction="mean", ignore_index=-100)
            gv_adjoint: R.Tensor((), dtype="float32") = R.ones(R.shape([]), dtype="float32")
            lv3: R.Tensor((2, 4), dtype="float32") = R.grad.nll_loss_backward(gv_adjoint, lv2, targets, reduction="mean", ignore_index=-100)
            lv4: R.Tensor((2, 1), dtype="float32") = R.sum(lv3, axis=[-1], keepdims=True)
            lv5: R.Tensor((2, 4), dtype="float32") = R.exp(lv2)
            lv6: R.Tensor((2, 4), dtype="float32") = R.multiply(lv4, lv5)
            lv1_adjoint: R.Tensor((2, 4), dtype="float32") = R.subtract(lv3, lv6)
            b_adjoint: R.Tensor((4,), dtype="float32") = R.collapse_sum_to(lv1_adjoint, R.shape([4]))
            lv7: R.Tensor((3, 2), dtype="float32") = R.permute_dims(x, axes=[1, 0])
            lv8: R.Tensor((3, 4), dtype="float32") = R.matmul(lv7, lv1_adjoint, out_dtype="void")
            w_adjoint: R.Tensor((3, 4), dtype="float32") = R.collapse_sum_to(lv8, R.shape([3, 4]))
            w_adjoint_out: R.Tensor((3, 4), dtype="float32") = w_adjoint
            b_adjoint_out: R.Tensor((4,), dtype="float32") = b_adjoint
            R.output(gv, w_adjoint_out, b_adjoint_out)
        return (gv, (w_adjoint_out, b_adjoint_out))

# Metadata omitted. Use show_meta=True in script() method to show it.
