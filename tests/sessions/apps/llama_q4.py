# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    I.module_attrs({"system_lib_prefix": None})
    @T.prim_func
    def apply_logit_bias_inplace(var_logits: T.handle, var_pos2seq_id: T.handle, var_token_ids: T.handle, var_logit_bias: T.handle):
        T.func_attr({"tir.is_scheduled": T.bool(True), "tir.noalias": T.bool(True)})
        batch_size, vocab_size = T.int32(is_size_var=True), T.int32(is_size_var=True)
        logits = T.match_buffer(var_logits, (batch_size, vocab_size))
        num_token = T.int32(is_size_var=True)
        pos2seq_id = T.match_buffer(var_pos2seq_id, (num_token,), "int32")
        token_ids = T.match_buffer(var_token_ids, (num_token,), "int32")
        logit_bias = T.match_buffer(var_logit_bias, (num_token,))
        # with T.block("root"):
        for p0 in range((num_token + 1023) // 1024):
            for p1 in range(1024):
                with T.block("block"):
                    vp = T.axis.spatial(num_token, p0 * 1024 + p1)
                    T.where(p0 * 1024 + p1 < num_token)
                    T.reads(logits[pos2seq_id[vp], token_ids[vp]], pos2seq_id[vp], token_ids[vp], logit_bias[vp])
                    T.writes(logits[pos2seq_id[vp], token_ids[vp]])
                    logits[pos2seq_id[vp], token_ids[vp]] = logits[pos2seq_id[vp], token_ids[vp]] + logit_bias[vp]

    @T.prim_func(private=True)
    def fused_rope(var_qkv: T.handle, var_position_map: T.handle, var_q: T.handle, var_k: T.handle, var_v: T.handle, apply_rope: T.int32):
        T.func_attr({"op_pattern": 8, "tir.noalias": T.bool(True)})
        seq_len = T.int64()
        qkv = T.match_buffer(var_qkv, (seq_len, T.int64(8), T.int64(8)), "float16")
        position_map_elem_offset = T.int64()
        position_map = T.match_buffer(var_position_map, (seq_len,), "int32", elem_offset=position_map_elem_offset)
        q = T.match_buffer(var_q, (seq_len, T.int64(4), T.int64(8)), "float16")
        k = T.match_buffer(var_k, (seq_len, T.int64(2), T.int64(8)), "float16")
        v = T.match_buffer(var_v, (seq_len, T.int64(2), T.int64(8)), "float16")
        # with T.block("root"):
        for iters_0, iters_1, iters_2 in T.grid(seq_len, T.int64(8), T.int64(8)):
            with T.block("llama_fused_rope"):
                s, h, d = T.axis.remap("SSS", [iters_0, iters_1, iters_2])
                T.reads(position_map[s], qkv[s, h, d - T.int64(4):d - T.int64(4) + T.int64(9)])
                T.writes(q[s, h, d], k[s, h - T.int64(4), d], v[s, h - T.int64(6), d])
                if h < T.int64(4):
                    q[s, h, d] = T.if_then_else(apply_rope > 0 and d < T.int64(8), T.Cast("float16", T.cos(T.Cast("float32", position_map[s]) / T.pow(T.float32(10000), T.Cast("float32", d * T.int64(2) % T.int64(8)) / T.float32(8)))) * qkv[s, h, d] + T.Cast("float16", T.sin(T.Cast("float32", position_map[s]) / T.pow(T.float32(10000), T.Cast("float32", d * T.int64(2) % T.int64(8)) / T.float32(8)))) * T.if_then_else(d < T.int64(4), qkv[s, h, d + T.int64(4)] * T.float16(-1), qkv[s, h, d - T.int64(4)]), qkv[s, h, d])
                else:
                    if h < T.int64(6):
                        k[s, h - T.int64(4), d] = T.if_then_else(apply_rope > 0 and d < T.int64(8), T.Cast("float16", T.cos(T.Cast("float32", position_map[s]) / T.pow(T.float32(10000), T.Cast("float32", d * T.int64(2) % T.int64(8)) / T.float32(8)))) * qkv[s, h, d] + T.Cast("float16", T.sin(T.Cast("float32", position_map[s]) / T.pow(T.float32(10000), T.Cast("float32", d * T.int64(2) % T.int64(8)) / T.float32(8)))) * T.if_then_else(d < T.int64(4), qkv[s, h, d + T.int64(4)] * T.float16(-1), qkv[s, h, d - T.int64(4)]), qkv[s, h, d])
                    else:
                        v[s, h - T.int64(6), d] = qkv[s, h, d]

    @T.prim_func(private=True)
    def dequantize(w_q: T.Buffer((T.int64(64), T.int64(4)), "uint32"), w_s: T.Buffer((T.int64(64), T.int64(1)), "float16"), dequantize: T.Buffer((T.int64(64), T.int64(32)), "float16")):
        T.func_attr({"tir.noalias": T.bool(True)})
        # with T.block("root"):
        compute = T.alloc_buffer((T.int64(64), T.int64(32)), "float16")
        for i0, i1 in T.grid(T.int64(64), T.int64(32)):
            with T.block("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(w_q[v_i0, v_i1 // T.int64(8)])
                T.writes(compute[v_i0, v_i1])
                compute[v_i0, v_i1] = T.Cast("float16", T.bitwise_and(T.shift_right(w_q[v_i0, v_i1 // T.int64(8)], T.Cast("uint32", v_i1 % T.int64(8) * T.int64(4))), T.uint32(15)))
        for i0, i1 in T.grid(T.int64(64), T.int64(32)):
            with T.block("dequantize"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(compute[v_i0, v_i1], w_s[v_i0, v_i1 // T.int64(32)])
                T.writes(dequantize[v_i0, v_i1])
                dequantize[v_i0, v_i1] = (compute[v_i0, v_i1] - T.float16(7)) * w_s[v_i0, v_i1 // T.int64(32)]

    @T.prim_func(private=True)
    def fused_dequantize1_NT_matmul(qkv_q: T.Buffer((T.int64(64), T.int64(4)), "uint32"), qkv_s: T.Buffer((T.int64(64), T.int64(1)), "float16"), p_rms_norm: T.handle, p_output0: T.handle):
        T.func_attr({"tir.noalias": T.bool(True)})
        seq_len = T.int64()
        rms_norm = T.match_buffer(p_rms_norm, (T.int64(1), seq_len, T.int64(32)), "float16")
        NT_matmul_intermediate = T.match_buffer(p_output0, (T.int64(1), seq_len, T.int64(64)), "float16")
        # with T.block("root"):
        compute = T.alloc_buffer((T.int64(64), T.int64(32)), "float16")
        dequantize_intermediate_intermediate = T.alloc_buffer((T.int64(64), T.int64(32)), "float16")
        for i0, i1 in T.grid(T.int64(64), T.int64(32)):
            with T.block("compute"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(qkv_q[v_i0, v_i1 // T.int64(8)])
                T.writes(compute[v_i0, v_i1])
                compute[v_i0, v_i1] = T.Cast("float16", T.bitwise_and(T.shift_right(qkv_q[v_i0, v_i1 // T.int64(8)], T.Cast("uint32", v_i1 % T.int64(8)) * T.uint32(4)), T.uint32(15)))
        for i0, i1 in T.grid(T.int64(64), T.int64(32)):
            with T.block("dequantize"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(compute[v_i0, v_i1], qkv_s[v_i0, v_i1 // T.int64(32)])
                T.writes(dequantize_intermediate_intermediate[v_i0, v_i1])
                dequantize_intermediate_intermediate[v_i0, v_i1] = (compute[v_i0, v_i1] - T.float16(7)) * qkv_s[v_i0, v_i1 // T.int64(32)]
        for i0, i1, i2, k in T.grid(T.int64(1), seq_len, T.int64(64), T.int64(32)):
            with T.block("NT_matmul"):
                v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
                T.reads(rms_norm[v_i0, v_i1, v_k], dequantize_intermediate_intermediate[v_i2, v_k])
                T.writes(NT_matmul_intermediate[v_i0, v_i1, v_i2])
                with T.init():
                    NT_matmul_intermediate[v_i0, v_i1, v_i2] = T.float16(0)
                NT_matmul_intermediate[v_i0, v_i1, v_i2] = NT_matmul_intermediate[v_i0, v_i1, v_i2] + rms_norm[v_i0, v_i1, v_k] * dequantize_intermediate_intermediate[v_i2, v_k]

    @T.prim_func(private=True)
    def rms_norm(var_A: T.handle, B: T.Buffer((T.int64(32),), "float16"), var_rms_norm: T.handle):
        T.func_attr({"op_pattern": 4, "tir.noalias": T.bool(True)})
        n = T.int64()
        A = T.match_buffer(var_A, (T.int64(1), n, T.int64(32)), "float16")
        rms_norm_1 = T.match_buffer(var_rms_norm, (T.int64(1), n, T.int64(32)), "float16")
        # with T.block("root"):
        Ared_temp = T.alloc_buffer((T.int64(1), n))
        for bsz, i, k in T.grid(T.int64(1), n, T.int64(32)):
            with T.block("Ared_temp"):
                v_bsz, v_i, v_k = T.axis.remap("SSR", [bsz, i, k])
                T.reads(A[v_bsz, v_i, v_k])
                T.writes(Ared_temp[v_bsz, v_i])
                with T.init():
                    Ared_temp[v_bsz, v_i] = T.float32(0)
                Ared_temp[v_bsz, v_i] = Ared_temp[v_bsz, v_i] + T.Cast("float32", A[v_bsz, v_i, v_k]) * T.Cast("float32", A[v_bsz, v_i, v_k])
        for bsz, i, k in T.grid(T.int64(1), n, T.int64(32)):
            with T.block("rms_norm"):
                v_bsz, v_i, v_k = T.axis.remap("SSS", [bsz, i, k])
                T.reads(B[v_k], A[v_bsz, v_i, v_k], Ared_temp[v_bsz, v_i])
                T.writes(rms_norm_1[v_bsz, v_i, v_k])
                rms_norm_1[v_bsz, v_i, v_k] = T.Cast("float16", T.Cast("float32", B[v_k]) * (T.Cast("float32", A[v_bsz, v_i, v_k]) / T.sqrt(Ared_temp[v_bsz, v_i] * T.float32(0.03125) + T.float32(1.0000000000000001e-05))))

    @R.function
    def embed(input_ids: R.Tensor(("seq_len",), dtype="int32"), packed_params: R.Tuple(R.Tensor((64, 4), dtype="uint32"), R.Tensor((64, 1), dtype="float16"), R.Tensor((64, 4), dtype="uint32"), R.Tensor((64, 1), dtype="float16"), R.Tensor((32,), dtype="float16"))) -> R.Tensor(("seq_len", 32), dtype="float16"):
        seq_len = T.int64()
        R.func_attr({"num_input": 1, "relax.memory_plan_dynamic_func_output": True, "tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {"batch_size": 8, "seq_len": 64, "total_seq_len": 64}})
        cls = Module
        with R.dataflow():
            model_embed_tokens_q_weight1: R.Tensor((64, 4), dtype="uint32") = packed_params[0]
            model_embed_tokens_q_scale1: R.Tensor((64, 1), dtype="float16") = packed_params[1]
            lv = R.call_tir(cls.dequantize, (model_embed_tokens_q_weight1, model_embed_tokens_q_scale1), out_sinfo=R.Tensor((64, 32), dtype="float16"))
            take: R.Tensor((seq_len, 32), dtype="float16") = R.take(lv, input_ids, axis=0)
            gv: R.Tensor((seq_len, 32), dtype="float16") = take
            R.output(gv)
        return gv

    @R.function
    def prefill_qkv(input_embed: R.Tensor((1, "seq_len", 32), dtype="float16"), positions: R.Tensor(("seq_len",), dtype="int32"), packed_params: R.Tuple(R.Tensor((64, 4), dtype="uint32"), R.Tensor((64, 1), dtype="float16"), R.Tensor((64, 4), dtype="uint32"), R.Tensor((64, 1), dtype="float16"), R.Tensor((32,), dtype="float16"))) -> R.Tuple(R.Tensor(("seq_len", 4, 8), dtype="float16"), R.Tensor(("seq_len", 2, 8), dtype="float16"), R.Tensor(("seq_len", 2, 8), dtype="float16")):
        seq_len = T.int64()
        R.func_attr({"num_input": 2, "relax.memory_plan_dynamic_func_output": True, "tir_var_upper_bound": {"seq_len": 64}})
        cls = Module
        with R.dataflow():
            lv = packed_params[4]
            rms_norm = R.call_tir(cls.rms_norm, (input_embed, lv), out_sinfo=R.Tensor((1, seq_len, 32), dtype="float16"))
            lv1 = packed_params[2]
            lv2 = packed_params[3]
            lv3 = R.call_tir(cls.fused_dequantize1_NT_matmul, (lv1, lv2, rms_norm), out_sinfo=R.Tensor((1, seq_len, 64), dtype="float16"))
            reshape: R.Tensor((seq_len, 8, 8), dtype="float16") = R.reshape(lv3, R.shape([seq_len, 8, 8]))
            lv4 = R.call_tir(cls.fused_rope, (reshape, positions), out_sinfo=[R.Tensor((seq_len, 4, 8), dtype="float16"), R.Tensor((seq_len, 2, 8), dtype="float16"), R.Tensor((seq_len, 2, 8), dtype="float16")], tir_vars=R.shape([1]))
            gv: R.Tuple(R.Tensor((seq_len, 4, 8), dtype="float16"), R.Tensor((seq_len, 2, 8), dtype="float16"), R.Tensor((seq_len, 2, 8), dtype="float16")) = lv4
            R.output(gv)
        return gv

    @R.function
    def alloc_embedding_tensor() -> R.Tensor((64, 32), dtype="float16"):
        gv: R.Tensor((64, 32), dtype="float16") = R.builtin.alloc_tensor(R.shape([64, 32]), R.dtype("float16"), R.prim_value(0), R.str("global"))
        return gv

    @R.function
    def softmax_with_temperature(logits: R.Tensor(("batch_size", 1, "vocab_size"), dtype="float32"), temperature: R.Tensor(("batch_size",), dtype="float32")) -> R.Tensor(("batch_size", 1, "vocab_size"), dtype="float32"):
        batch_size = T.int64()
        vocab_size = T.int64()
        R.func_attr({"relax.memory_plan_dynamic_func_output": True, "tir_non_negative_var": ["vocab_size"], "tir_var_upper_bound": {"batch_size": 8}})
        with R.dataflow():
            lv: R.Tensor((batch_size, 1, 1), dtype="float32") = R.reshape(temperature, R.shape([batch_size, 1, 1]))
            lv1: R.Tensor((batch_size, 1, vocab_size), dtype="float32") = R.divide(logits, R.maximum(lv, R.const(9.9999999747524271e-07, "float32")))
            gv: R.Tensor((batch_size, 1, vocab_size), dtype="float32") = R.nn.softmax(lv1, axis=-1)
            R.output(gv)
        return gv

    @R.function
    def _initialize_effect() -> R.Tuple(R.Object):
        with R.dataflow():
            _io: R.Object = R.null_value()
            lv: R.Tuple(R.Object) = (_io,)
            gv: R.Tuple(R.Object) = lv
            R.output(gv)
        return gv
