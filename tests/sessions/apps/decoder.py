# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def prefill(input_ids: R.Tensor((1, "seq_len"), dtype="int32"), total: R.Shape(["total_seq_len"]), k_cache: R.Any, v_cache: R.Any, embed_in: R.Tensor((32, 16), dtype="float32"), ln_w: R.Tensor((16,), dtype="float32"), ln_b: R.Tensor((16,), dtype="float32"), qkv_w: R.Tensor((48, 16), dtype="float32"), qkv_b: R.Tensor((48,), dtype="float32"), dense_w: R.Tensor((16, 16), dtype="float32"), dense_b: R.Tensor((16,), dtype="float32"), fc1_w: R.Tensor((64, 16), dtype="float32"), fc1_b: R.Tensor((64,), dtype="float32"), fc2_w: R.Tensor((16, 64), dtype="float32"), fc2_b: R.Tensor((16,), dtype="float32"), embed_out: R.Tensor((32, 16), dtype="float32")) -> R.Tuple(R.Tensor((1, "seq_len", 32), dtype="float32"), R.Any, R.Any):
        seq_len = T.int64()
        total_seq_len = T.int64()
        R.func_attr({"num_input": 4, "relax.force_pure": True, "tir_var_upper_bound": {"seq_len": 16, "total_seq_len": 16}})
        lv: R.Tensor((seq_len,), dtype="int32") = R.reshape(input_ids, R.shape([seq_len]))
        lv1: R.Tensor((seq_len, 16), dtype="float32") = R.take(embed_in, lv, axis=0)
        lv2: R.Tensor((1, seq_len, 16), dtype="float32") = R.reshape(lv1, R.shape([1, seq_len, 16]))
        lv3: R.Tensor((1, seq_len, 16), dtype="float32") = R.nn.layer_norm(lv2, ln_w, ln_b, axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)
        lv4: R.Tensor((16, 48), dtype="float32") = R.permute_dims(qkv_w, axes=None)
        lv5: R.Tensor((1, seq_len, 48), dtype="float32") = R.matmul(lv3, lv4, out_dtype="void")
        lv6: R.Tensor((1, seq_len, 48), dtype="float32") = R.add(lv5, qkv_b)
        lv7: R.Tensor((1, seq_len, 4, 12), dtype="float32") = R.reshape(lv6, R.shape([1, seq_len, 4, 12]))
        lv8: R.Tuple(R.Tensor((1, seq_len, 4, 4), dtype="float32"), R.Tensor((1, seq_len, 4, 4), dtype="float32"), R.Tensor((1, seq_len, 4, 4), dtype="float32")) = R.split(lv7, indices_or_sections=[4, 8], axis=-1)
        lv9: R.Tensor((1, seq_len, 4, 4), dtype="float32") = lv8[0]
        lv10: R.Tensor((1, seq_len, 4, 4), dtype="float32") = lv8[1]
        lv11: R.Tensor((1, seq_len, 4, 4), dtype="float32") = lv8[2]
        lv12: R.Tensor((seq_len, 4, 4), dtype="float32") = R.squeeze(lv10, axis=[0])
        lv13: R.Any = R.call_packed("vm.builtin.attention_kv_cache_append", k_cache, lv12, ty_args=(R.Any,))
        lv14: R.Tensor((seq_len, 4, 4), dtype="float32") = R.squeeze(lv11, axis=[0])
        lv15: R.Any = R.call_packed("vm.builtin.attention_kv_cache_append", v_cache, lv14, ty_args=(R.Any,))
        lv16: R.Tensor((total_seq_len, 4, 4), dtype="float32") = R.call_packed("vm.builtin.attention_kv_cache_view", lv13, R.shape([total_seq_len, 4, 4]), ty_args=(R.Tensor((total_seq_len, 4, 4), dtype="float32"),))
        lv17: R.Tensor((total_seq_len, 4, 4), dtype="float32") = R.call_packed("vm.builtin.attention_kv_cache_view", lv15, R.shape([total_seq_len, 4, 4]), ty_args=(R.Tensor((total_seq_len, 4, 4), dtype="float32"),))
        lv18: R.Tensor((1, total_seq_len, 4, 4), dtype="float32") = R.reshape(lv16, R.shape([1, total_seq_len, 4, 4]))
        lv19: R.Tensor((1, total_seq_len, 4, 4), dtype="float32") = R.reshape(lv17, R.shape([1, total_seq_len, 4, 4]))
        lv20: R.Tensor((1, 4, seq_len, 4), dtype="float32") = R.permute_dims(lv9, axes=[0, 2, 1, 3])
        lv21: R.Tensor((1, 4, 4, total_seq_len), dtype="float32") = R.permute_dims(lv18, axes=[0, 2, 3, 1])
        lv22: R.Tensor((1, 4, seq_len, total_seq_len), dtype="float32") = R.matmul(lv20, lv21, out_dtype="float32")
        lv23: R.Tensor((1, 4, seq_len, total_seq_len), dtype="float32") = R.divide(lv22, R.const(2.0, "float32"))
        lv24: R.Tensor((seq_len, total_seq_len), dtype="float32") = R.full(R.shape([seq_len, total_seq_len]), R.const(-3.4028234663852886e+38, "float32"), dtype="float32")
        lv25: R.Tensor((seq_len, total_seq_len), dtype="float32") = R.triu(lv24, total_seq_len - seq_len + 1)
        lv26: R.Tensor((1, 1, seq_len, total_seq_len), dtype="float32") = R.broadcast_to(lv25, R.shape([1, 1, seq_len, total_seq_len]))
        lv27: R.Tensor((1, 4, seq_len, total_seq_len), dtype="float32") = R.add(lv23, lv26)
        lv28: R.Tensor((1, 4, seq_len, total_seq_len), dtype="float32") = R.nn.softmax(lv27, axis=-1)
        lv29: R.Tensor((1, 4, total_seq_len, 4), dtype="float32") = R.permute_dims(lv19, axes=[0, 2, 1, 3])
        lv30: R.Tensor((1, 4, seq_len, 4), dtype="float32") = R.matmul(lv28, lv29, out_dtype="void")
        lv31: R.Tensor((1, seq_len, 4, 4), dtype="float32") = R.permute_dims(lv30, axes=[0, 2, 1, 3])
        lv32: R.Tensor((1, seq_len, 16), dtype="float32") = R.reshape(lv31, R.shape([1, seq_len, 16]))
        lv33: R.Tensor((16, 16), dtype="float32") = R.permute_dims(dense_w, axes=None)
        lv34: R.Tensor((1, seq_len, 16), dtype="float32") = R.matmul(lv32, lv33, out_dtype="void")
        lv35: R.Tensor((1, seq_len, 16), dtype="float32") = R.add(lv34, dense_b)
        lv36: R.Tensor((16, 64), dtype="float32") = R.permute_dims(fc1_w, axes=None)
        lv37: R.Tensor((1, seq_len, 64), dtype="float32") = R.matmul(lv3, lv36, out_dtype="void")
        lv38: R.Tensor((1, seq_len, 64), dtype="float32") = R.add(lv37, fc1_b)
        lv39: R.Tensor((1, seq_len, 64), dtype="float32") = R.nn.gelu(lv38)
        lv40: R.Tensor((64, 16), dtype="float32") = R.permute_dims(fc2_w, axes=None)
        lv41: R.Tensor((1, seq_len, 16), dtype="float32") = R.matmul(lv39, lv40, out_dtype="void")
        lv42: R.Tensor((1, seq_len, 16), dtype="float32") = R.add(lv41, fc2_b)
        lv43: R.Tensor((1, seq_len, 16), dtype="float32") = R.add(lv42, lv35)
        lv44: R.Tensor((1, seq_len, 16), dtype="float32") = R.add(lv43, lv2)
        lv45: R.Tensor((16, 32), dtype="float32") = R.permute_dims(embed_out, axes=None)
        lv46: R.Tensor((1, seq_len, 32), dtype="float32") = R.matmul(lv44, lv45, out_dtype="float32")
        lv47: R.Tuple(R.Tensor((1, seq_len, 32), dtype="float32"), R.Any, R.Any) = (lv46, lv13, lv15)
        return lv47

    @R.function(pure=False)
    def main(ids: R.Tensor((1, 3), dtype="int32"), ids1: R.Tensor((1, 1), dtype="int32"), params: R.Tuple(R.Tensor((32, 16), dtype="float32"), R.Tensor((16,), dtype="float32"), R.Tensor((16,), dtype="float32"), R.Tensor((48, 16), dtype="float32"), R.Tensor((48,), dtype="float32"), R.Tensor((16, 16), dtype="float32"), R.Tensor((16,), dtype="float32"), R.Tensor((64, 16), dtype="float32"), R.Tensor((64,), dtype="float32"), R.Tensor((16, 64), dtype="float32"), R.Tensor((16,), dtype="float32"), R.Tensor((32, 16), dtype="float32"))) -> R.Tensor((1, 1, 32), dtype="float32"):
        cls = Module
        init: R.Tensor((16, 4, 4), dtype="float32") = R.zeros(R.shape([16, 4, 4]), dtype="float32")
        k: R.Any = R.call_packed("vm.builtin.attention_kv_cache_create", init, R.shape([16, 4, 4]), R.prim_value(0), ty_args=(R.Any,))
        v: R.Any = R.call_packed("vm.builtin.attention_kv_cache_create", init, R.shape([16, 4, 4]), R.prim_value(0), ty_args=(R.Any,))
        a: R.Tuple(R.Tensor((1, 3, 32), dtype="float32"), R.Any, R.Any) = cls.prefill(ids, R.shape([3]), k, v, params[0], params[1], params[2], params[3], params[4], params[5], params[6], params[7], params[8], params[9], params[10], params[11])
        k1: R.Any = a[1]
        v1: R.Any = a[2]
        b: R.Tuple(R.Tensor((1, 1, 32), dtype="float32"), R.Any, R.Any) = cls.prefill(ids1, R.shape([4]), k1, v1, params[0], params[1], params[2], params[3], params[4], params[5], params[6], params[7], params[8], params[9], params[10], params[11])
        gv: R.Tensor((1, 1, 32), dtype="float32") = b[0]
        return gv
