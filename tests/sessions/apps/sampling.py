# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def get_index_from_sorted(A: T.handle, B: T.handle, C: T.handle, D: T.handle, E: T.handle, F: T.handle):
        batch, vocab_size = T.int64(is_size_var=True), T.int64(is_size_var=True)
        cumsum_sorted = T.match_buffer(A, (batch, vocab_size))
        indices = T.match_buffer(B, (batch, vocab_size), "int32")
        renorm_prob = T.match_buffer(C, (batch, 1))
        out_batch = T.int64(is_size_var=True)
        usample = T.match_buffer(D, (out_batch, 1))
        sample_indices = T.match_buffer(E, (out_batch, 1), "int32")
        output_index = T.match_buffer(F, (out_batch, 1), "int32")
        # with T.block("root"):
        for ax0, ax1 in T.grid(out_batch, vocab_size):
            with T.block("T_get_index_from_sorted"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                T.writes(output_index[v_ax0, 0])
                if usample[v_ax0, T.int64(0)] < cumsum_sorted[sample_indices[v_ax0, T.int64(0)], v_ax1] / renorm_prob[sample_indices[v_ax0, T.int64(0)], 0] or v_ax1 + 1 == vocab_size:
                    if v_ax1 == T.int64(0):
                        output_index[v_ax0, 0] = indices[sample_indices[v_ax0, T.int64(0)], 0]
                    else:
                        if usample[v_ax0, T.int64(0)] >= cumsum_sorted[sample_indices[v_ax0, T.int64(0)], v_ax1 - 1] / renorm_prob[sample_indices[v_ax0, T.int64(0)], 0]:
                            output_index[v_ax0, 0] = indices[sample_indices[v_ax0, T.int64(0)], v_ax1]

    @T.prim_func(private=True)
    def get_renorm_prob(A: T.handle, B: T.handle, C: T.handle, D: T.handle):
        batch, vocab_size = T.int64(is_size_var=True), T.int64(is_size_var=True)
        cumsum_sorted = T.match_buffer(A, (batch, vocab_size))
        top_p = T.match_buffer(B, (batch, 1))
        top_k = T.match_buffer(C, (batch, 1), "int32")
        renorm_prob = T.match_buffer(D, (batch, 1))
        # with T.block("root"):
        for ax0, ax1 in T.grid(batch, vocab_size):
            with T.block("T_get_renorm_prob"):
                v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                if not (cumsum_sorted[v_ax0, 0] < top_p[v_ax0, 0] and top_k[v_ax0, 0] > 1):
                    renorm_prob[v_ax0, 0] = cumsum_sorted[v_ax0, 0]
                else:
                    if cumsum_sorted[v_ax0, v_ax1] < top_p[v_ax0, 0] and v_ax1 + 1 < T.Cast("int64", top_k[v_ax0, 0]):
                        if v_ax1 + 1 == vocab_size:
                            renorm_prob[v_ax0, 0] = cumsum_sorted[v_ax0, v_ax1]
                        else:
                            if not (cumsum_sorted[v_ax0, v_ax1 + 1] < top_p[v_ax0, 0] and v_ax1 + 2 < T.Cast("int64", top_k[v_ax0, 0])):
                                renorm_prob[v_ax0, 0] = cumsum_sorted[v_ax0, v_ax1 + 1]

    @R.function
    def multinomial_from_uniform(prob: R.Tensor(("batch_size", "vocab_size"), dtype="float32"), uniform_sample: R.Tensor(("num_samples", 1), dtype="float32"), sample_indices: R.Tensor(("num_samples", 1), dtype="int64")) -> R.Tensor(("num_samples", 1), dtype="int64"):
        num_samples = T.int64()
        batch_size = T.int64()
        vocab_size = T.int64()
        R.func_attr({"relax.memory_plan_dynamic_func_output": 1, "tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {"batch_size": 8, "num_samples": 8}})
        with R.dataflow():
            lv: R.Tensor((num_samples, 1), dtype="int64") = R.multinomial_from_uniform(prob, uniform_sample, sample_indices, dtype="int64")
            gv: R.Tensor((num_samples, 1), dtype="int64") = lv
            R.output(gv)
        return gv

    @R.function
    def main(logits: R.Tensor(("batch", "vocab_size"), dtype="float32"), temperature: R.Tensor(("batch",), dtype="float32"), top_p: R.Tensor(("batch", 1), dtype="float32"), top_k: R.Tensor(("batch", 1), dtype="int32"), usample: R.Tensor(("batch", 1), dtype="float32"), sidx: R.Tensor(("batch", 1), dtype="int32")) -> R.Tensor(("batch", 1), dtype="int32"):
        batch = T.int64()
        vocab_size = T.int64()
        R.func_attr({"tir_non_negative_var": ["vocab_size"]})
        cls = Module
        with R.dataflow():
            t: R.Tensor((batch, 1), dtype="float32") = R.reshape(temperature, R.shape([batch, 1]))
            s: R.Tensor((batch, vocab_size), dtype="float32") = R.divide(logits, t)
            prob: R.Tensor((batch, vocab_size), dtype="float32") = R.nn.softmax(s, axis=-1)
            sorted_indices: R.Tensor((batch, vocab_size), dtype="int32") = R.argsort(prob, axis=-1, descending=True, dtype="int32")
            sorted: R.Tensor((batch, vocab_size), dtype="float32") = R.gather_elements(prob, sorted_indices, axis=1)
            cumsum: R.Tensor((batch, vocab_size), dtype="float32") = R.cumsum(sorted, axis=1, dtype="float32", exclusive=False)
            renorm = R.call_tir(cls.get_renorm_prob, (cumsum, top_p, top_k), out_sinfo=R.Tensor((batch, 1), dtype="float32"))
            index = R.call_tir(cls.get_index_from_sorted, (cumsum, sorted_indices, renorm, usample, sidx), out_sinfo=R.Tensor((batch, 1), dtype="int32"))
            gv: R.Tensor((batch, 1), dtype="int32") = index
            R.output(gv)
        return gv
