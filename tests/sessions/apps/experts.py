# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def get_indices_func(var_cumsum: T.handle, var_expert_indices: T.handle, var_reverse_indices: T.handle, var_token_indices: T.handle):
        T.func_attr({"tir.is_scheduled": 1, "tir.noalias": T.bool(True)})
        batch_size = T.int32(is_size_var=True)
        cumsum_len = T.int32(is_size_var=True)
        cumsum = T.match_buffer(var_cumsum, (cumsum_len,), "int32")
        expert_indices = T.match_buffer(var_expert_indices, (batch_size, 2), "int32")
        reverse_indices = T.match_buffer(var_reverse_indices, (batch_size * 2,), "int32")
        token_indices = T.match_buffer(var_token_indices, (batch_size * 2,), "int32")
        for bj_o in T.thread_binding((batch_size * 2 + 1023) // 1024, thread="blockIdx.x"):
            for bj_i in T.thread_binding(1024, thread="threadIdx.x"):
                with T.block("indices"):
                    T.reads(expert_indices[(bj_o * 1024 + bj_i) // 2, (bj_o * 1024 + bj_i) % 2], cumsum[expert_indices[(bj_o * 1024 + bj_i) // 2, (bj_o * 1024 + bj_i) % 2] * batch_size + (bj_o * 1024 + bj_i) // 2 - 1])
                    T.writes(reverse_indices[cumsum[expert_indices[(bj_o * 1024 + bj_i) // 2, (bj_o * 1024 + bj_i) % 2] * batch_size + (bj_o * 1024 + bj_i) // 2 - 1]], token_indices[cumsum[expert_indices[(bj_o * 1024 + bj_i) // 2, (bj_o * 1024 + bj_i) % 2] * batch_size + (bj_o * 1024 + bj_i) // 2 - 1]])
                    if bj_o * 1024 + bj_i < batch_size * 2:
                        b: T.int32 = T.floordiv(bj_o * 1024 + bj_i, 2)
                        j: T.int32 = T.floormod(bj_o * 1024 + bj_i, 2)
                        e: T.int32 = expert_indices[b, j]
                        reverse_indices[cumsum[e * batch_size + b] - 1] = b * 2 + j
                        token_indices[cumsum[e * batch_size + b] - 1] = b

    @T.prim_func(private=True)
    def get_indptr(var_cumsum: T.handle, batch_size: T.int64, var_indptr: T.handle):
        T.func_attr({"op_pattern": 8, "tir.noalias": T.bool(True)})
        cumsum = T.match_buffer(var_cumsum, (batch_size * T.int64(4),), "int32")
        indptr = T.match_buffer(var_indptr, (T.int64(5),), "int32")
        # with T.block("root"):
        for expert_id in range(T.int64(5)):
            with T.block("indptr"):
                v_expert_id = T.axis.spatial(T.int64(5), expert_id)
                T.reads(cumsum[v_expert_id * batch_size - T.int64(1)])
                T.writes(indptr[v_expert_id])
                indptr[v_expert_id] = T.Select(v_expert_id > T.int64(0), cumsum[v_expert_id * batch_size - T.int64(1)], 0)

    @R.function
    def main(hidden: R.Tensor(("batch_size", 8), dtype="float32"), gate_w: R.Tensor((4, 8), dtype="float32"), e1: R.Tensor((4, 16, 8), dtype="float32"), e2: R.Tensor((4, 8, 16), dtype="float32")) -> R.Tuple(R.Tensor(("batch_size * 2", 8), dtype="float32"), R.Tensor((5,), dtype="int32"), R.Tensor(("batch_size", 8), dtype="float32")):
        batch_size = T.int64()
        R.func_attr({"num_input": 1})
        cls = Module
        with R.dataflow():
            permute_dims: R.Tensor((8, 4), dtype="float32") = R.permute_dims(gate_w, axes=None)
            gate: R.Tensor((batch_size, 4), dtype="float32") = R.matmul(hidden, permute_dims, out_dtype="void")
            softmax: R.Tensor((batch_size, 4), dtype="float32") = R.nn.softmax(gate, axis=-1)
            topk: R.Tuple(R.Tensor((batch_size, 2), dtype="float32"), R.Tensor((batch_size, 2), dtype="int32")) = R.topk(softmax, k=2, axis=-1, ret_type="both", largest=True, dtype="int32")
            expert_weights: R.Tensor((batch_size, 2), dtype="float32") = topk[0]
            expert_indices: R.Tensor((batch_size, 2), dtype="int32") = topk[1]
            sum: R.Tensor((batch_size, 1), dtype="float32") = R.sum(expert_weights, axis=[-1], keepdims=True)
            div: R.Tensor((batch_size, 2), dtype="float32") = R.divide(expert_weights, sum)
            one_hot: R.Tensor((batch_size, 2, 4), dtype="int32") = R.one_hot(expert_indices, R.prim_value(T.int32(1)), R.prim_value(T.int32(0)), depth=4, axis=-1)
            mask: R.Tensor((batch_size, 4), dtype="int32") = R.sum(one_hot, axis=[1], keepdims=False)
            mask_t: R.Tensor((4, batch_size), dtype="int32") = R.permute_dims(mask, axes=[1, 0])
            flat: R.Tensor((batch_size * 4,), dtype="int32") = R.reshape(mask_t, R.shape([batch_size * 4]))
            cumsum: R.Tensor((batch_size * 4,), dtype="int32") = R.cumsum(flat, axis=0, dtype="int32", exclusive=False)
            lv = R.call_tir(cls.get_indices_func, (cumsum, expert_indices), out_sinfo=[R.Tensor((batch_size * 2,), dtype="int32"), R.Tensor((batch_size * 2,), dtype="int32")])
            reverse_indices: R.Tensor((batch_size * 2,), dtype="int32") = lv[0]
            token_indices: R.Tensor((batch_size * 2,), dtype="int32") = lv[1]
            indptr = R.call_tir(cls.get_indptr, (cumsum, batch_size), out_sinfo=R.Tensor((5,), dtype="int32"))
            take: R.Tensor((batch_size * 2, 8), dtype="float32") = R.take(hidden, token_indices, axis=0)
            scattered: R.Tensor((batch_size * 2, 8), dtype="float32") = R.zeros(R.shape([batch_size * 2, 8]), dtype="float32")
            idx: R.Tensor((batch_size * 2, 1), dtype="int32") = R.expand_dims(reverse_indices, axis=[1])
            idx1: R.Tensor((batch_size * 2, 8), dtype="int32") = R.broadcast_to(idx, R.shape([batch_size * 2, 8]))
            idx2: R.Tensor((batch_size * 2, 8), dtype="int64") = R.astype(idx1, dtype="int64")
            un: R.Tensor((batch_size * 2, 8), dtype="float32") = R.scatter_elements(scattered, idx2, take, axis=0, reduction="update")
            rs: R.Tensor((batch_size, 2, 8), dtype="float32") = R.reshape(un, R.shape([batch_size, 2, 8]))
            w: R.Tensor((batch_size, 2, 1), dtype="float32") = R.reshape(div, R.shape([batch_size, 2, 1]))
            mul: R.Tensor((batch_size, 2, 8), dtype="float32") = R.multiply(rs, w)
            out: R.Tensor((batch_size, 8), dtype="float32") = R.sum(mul, axis=[1], keepdims=False)
            h1: R.Tensor((4, batch_size, 16), dtype="float32") = R.einsum((hidden, e1), subscripts="bk,enk->ebn")
            h2: R.Tensor((4, batch_size, 8), dtype="float32") = R.einsum((h1, e2), subscripts="ebn,ekn->ebk")
            m: R.Tensor((batch_size, 8), dtype="float32") = R.mean(h2, axis=[0], keepdims=False)
            out1: R.Tensor((batch_size, 8), dtype="float32") = R.add(out, m)
            gv: R.Tuple(R.Tensor((batch_size * 2, 8), dtype="float32"), R.Tensor((5,), dtype="int32"), R.Tensor((batch_size, 8), dtype="float32")) = take, indptr, out1
            R.output(gv)
        return gv
