# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(pure=False)
    def create(mode: R.Prim("int64")) -> R.Object:
        zero = R.const(0.0, "float32")
        cache = R.call_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([2, 16, 8, 2, 0]), R.shape([0, 1]), R.prim_value(2), R.prim_value(1), R.prim_value(4), R.prim_value(4), R.shape([0]), R.prim_value(0), R.prim_value(mode), R.prim_value(T.float64(1.0)), R.prim_value(T.float64(10000.0)), R.null_value(), zero, ty_args=(R.Object,))
        _ = R.call_packed("vm.builtin.kv_state_add_sequence", cache, R.prim_value(5), ty_args=(R.Object,))
        return cache

    @R.function(pure=False)
    def forward(cache: R.Object, qkv: R.Tensor(("n", 4, 4), "float32"), ids: R.Shape(ndim=-1), lengths: R.Shape(ndim=-1)) -> R.Tensor(("n", 2, 4), "float32"):
        n = T.int64()
        _ = R.call_packed("vm.builtin.kv_state_begin_forward", cache, ids, lengths, ty_args=(R.Object,))
        out = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (cache, R.prim_value(0), R.prim_value(T.float64(0.5)), qkv), out_ty=R.Tensor((n, 2, 4), "float32"))
        _1 = R.call_packed("vm.builtin.kv_state_end_forward", cache, ty_args=(R.Object,))
        return out

    @R.function(pure=False)
    def main(x: R.Tensor((3, 4, 4), "float32"), y: R.Tensor((2, 4, 4), "float32"), mode: R.Prim("int64")) -> R.Object:
        cls = Module
        cache = cls.create(mode)
        first = cls.forward(cache, x, R.shape([5]), R.shape([3]))
        _1 = R.call_packed("vm.builtin.kv_state_fork_sequence", cache, R.prim_value(5), R.prim_value(7), R.prim_value(-1), ty_args=(R.Object,))
        both = cls.forward(cache, y, R.shape([5, 7]), R.shape([1, 1]))
        pages = R.call_packed("vm.builtin.attention_kv_cache_get_num_available_pages", cache, ty_args=(R.Object,))
        _2 = R.call_packed("vm.builtin.kv_state_popn", cache, R.prim_value(7), R.prim_value(2), ty_args=(R.Object,))
        _3 = R.call_packed("vm.builtin.kv_state_remove_sequence", cache, R.prim_value(5), ty_args=(R.Object,))
        length = R.call_packed("vm.builtin.attention_kv_cache_get_total_sequence_length", cache, ty_args=(R.Object,))
        again = cls.forward(cache, x, R.shape([7]), R.shape([3]))
        kv = R.call_dps_packed("vm.builtin.attention_kv_cache_debug_get_kv", (cache, R.prim_value(7), R.prim_value(1), R.prim_value(5)), out_ty=[R.Tensor((1, 4, 1, 4), "float32"), R.Tensor((1, 4, 1, 4), "float32")])
        return (first, both, pages, length, again, kv)

    # Two of three nodes of a token tree are children of the first; the last one is accepted.
    @R.function(pure=False)
    def tree(x: R.Tensor((3, 4, 4), "float32"), mode: R.Prim("int64")) -> R.Object:
        cls = Module
        cache = cls.create(mode)
        first = cls.forward(cache, x, R.shape([5]), R.shape([3]))
        _1 = R.call_packed("vm.builtin.kv_state_begin_forward", cache, R.shape([5]), R.shape([3]), R.shape([-1, 0, 0]), ty_args=(R.Object,))
        nodes = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (cache, R.prim_value(0), R.prim_value(T.float64(0.5)), x), out_ty=R.Tensor((3, 2, 4), "float32"))
        positions = R.call_packed("vm.builtin.attention_kv_cache_get_query_positions", cache, ty_args=(R.Object,))
        _2 = R.call_packed("vm.builtin.kv_state_end_forward", cache, ty_args=(R.Object,))
        _3 = R.call_packed("vm.builtin.attention_kv_cache_commit_accepted_token_tree_nodes", cache, R.shape([5]), R.shape([2]), ty_args=(R.Object,))
        more = cls.forward(cache, x, R.shape([5]), R.shape([3]))
        return (first, nodes, positions, more)

    # A window of three rows that keeps the first one; keys are rotated where they are used.
    @R.function(pure=False)
    def window(x: R.Tensor((4, 3, 4), "float16"), y: R.Tensor((1, 3, 4), "float16")) -> R.Object:
        zero = R.const(0.0, "float16")
        cache = R.call_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([2, 16, 8, 2, 1]), R.shape([0, 1]), R.prim_value(1), R.prim_value(1), R.prim_value(4), R.prim_value(4), R.shape([0]), R.prim_value(0), R.prim_value(1), R.prim_value(T.float64(0.5)), R.prim_value(T.float64(500.0)), R.null_value(), zero, ty_args=(R.Object,))
        _ = R.call_packed("vm.builtin.kv_state_add_sequence", cache, R.prim_value(0), ty_args=(R.Object,))
        _1 = R.call_packed("vm.builtin.attention_kv_cache_enable_sliding_window_for_seq", cache, R.prim_value(0), R.prim_value(3), R.prim_value(1), ty_args=(R.Object,))
        _2 = R.call_packed("vm.builtin.kv_state_begin_forward", cache, R.shape([0]), R.shape([4]), ty_args=(R.Object,))
        first = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (cache, R.prim_value(0), R.prim_value(T.float64(1.0)), x), out_ty=R.Tensor((4, 1, 4), "float16"))
        _3 = R.call_packed("vm.builtin.kv_state_end_forward", cache, ty_args=(R.Object,))
        _4 = R.call_packed("vm.builtin.kv_state_begin_forward", cache, R.shape([0]), R.shape([1]), ty_args=(R.Object,))
        second = R.call_dps_packed("vm.builtin.attention_kv_cache_attention_with_fused_qkv", (cache, R.prim_value(0), R.prim_value(T.float64(1.0)), y), out_ty=R.Tensor((1, 1, 4), "float16"))
        positions = R.call_packed("vm.builtin.attention_kv_cache_get_query_positions", cache, ty_args=(R.Object,))
        return (first, second, positions)

    # Latent attention in its parts: among the rows of the forward, to those before, and both merged.
    @R.function(pure=False)
    def latent(rows: R.Tensor((3, 6), "float32"), q: R.Tensor((3, 2, 6), "float32"), k: R.Tensor((3, 1, 6), "float32"), v: R.Tensor((3, 1, 4), "float32")) -> R.Object:
        zero = R.const(0.0, "float32")
        cache = R.call_packed("vm.builtin.paged_attention_kv_cache_create", R.shape([1, 16, 8, 2, 0]), R.shape([0, 1]), R.prim_value(2), R.prim_value(1), R.prim_value(6), R.prim_value(4), R.shape([1]), R.prim_value(0), R.prim_value(0), R.prim_value(T.float64(1.0)), R.prim_value(T.float64(10000.0)), R.null_value(), zero, ty_args=(R.Object,))
        _ = R.call_packed("vm.builtin.kv_state_add_sequence", cache, R.prim_value(0), ty_args=(R.Object,))
        _1 = R.call_packed("vm.builtin.kv_state_begin_forward", cache, R.shape([0]), R.shape([3]), ty_args=(R.Object,))
        _2 = R.call_packed("vm.builtin.attention_kv_cache_append_mla_kv", cache, R.prim_value(0), rows, ty_args=(R.Object,))
        _3 = R.call_packed("vm.builtin.kv_state_begin_forward", cache, R.shape([0]), R.shape([3]), ty_args=(R.Object,))
        _4 = R.call_packed("vm.builtin.attention_kv_cache_append_mla_kv", cache, R.prim_value(0), rows, ty_args=(R.Object,))
        near = R.call_dps_packed("vm.builtin.attention_kv_cache_self_attention", (cache, R.prim_value(0), R.prim_value(T.float64(0.5)), q, k, v), out_ty=[R.Tensor((3, 2, 4), "float32"), R.Tensor((3, 2), "float32")])
        far = R.call_dps_packed("vm.builtin.attention_kv_cache_cross_attention", (cache, R.prim_value(0), R.prim_value(T.float64(0.5)), q), out_ty=[R.Tensor((3, 2, 4), "float32"), R.Tensor((3, 2), "float32")])
        o1 = near[0]
        l1 = near[1]
        o2 = far[0]
        l2 = far[1]
        merged = R.call_packed("vm.builtin.attention_kv_cache_merge_attn_output_inplace", cache, o1, l1, o2, l2, ty_args=(R.Object,))
        all_rows = R.call_dps_packed("vm.builtin.attention_kv_cache_debug_get_kv_mla", (cache, R.prim_value(0), R.prim_value(0), R.prim_value(6)), out_ty=R.Tensor((1, 6, 6), "float32"))
        return (merged, o2, l2, all_rows)

    @R.function(pure=False)
    def step(state: R.Object, x: R.Tensor(("b", 2), "float32"), ids: R.Shape(ndim=-1), lengths: R.Shape(ndim=-1)) -> R.Tensor(("b", 2), "float32"):
        b = T.int64()
        _ = R.call_packed("vm.builtin.kv_state_begin_forward", state, ids, lengths, ty_args=(R.Object,))
        h = R.call_dps_packed("vm.builtin.rnn_state_get", (state, R.prim_value(1), R.prim_value(0)), out_ty=R.Tensor((b, 2), "float32"))
        half = R.multiply(h, R.const(0.5, "float32"))
        new = R.tanh(R.add(half, x))
        s = R.call_packed("vm.builtin.rnn_state_set", state, R.prim_value(1), R.prim_value(0), new, ty_args=(R.Object,))
        _1 = R.call_packed("vm.builtin.kv_state_end_forward", s, ty_args=(R.Object,))
        return new

    # A state of recurrent layers: two steps, one back, a fork, a step of both.
    @R.function(pure=False)
    def recurrent(x: R.Tensor((1, 2), "float32"), y: R.Tensor((2, 2), "float32")) -> R.Object:
        cls = Module
        zero = R.zeros(R.shape([2]), "float32")
        none = R.tuple(R.null_value(), R.null_value())
        state = R.call_packed("vm.builtin.rnn_state_create", R.prim_value(2), R.prim_value(3), R.prim_value(3), none, none, (zero, zero), ty_args=(R.Object,))
        _ = R.call_packed("vm.builtin.kv_state_add_sequence", state, R.prim_value(4), ty_args=(R.Object,))
        first = cls.step(state, x, R.shape([4]), R.shape([1]))
        second = cls.step(state, x, R.shape([4]), R.shape([1]))
        _1 = R.call_packed("vm.builtin.kv_state_popn", state, R.prim_value(4), R.prim_value(1), ty_args=(R.Object,))
        _2 = R.call_packed("vm.builtin.kv_state_fork_sequence", state, R.prim_value(4), R.prim_value(9), R.prim_value(-1), ty_args=(R.Object,))
        both = cls.step(state, y, R.shape([9, 4]), R.shape([1, 1]))
        now = R.call_packed("vm.builtin.rnn_state_debug_get", state, R.prim_value(1), R.prim_value(0), R.prim_value(9), ty_args=(R.Object,))
        return (first, second, both, now)

    # The cache itself, and what goes wrong.
    @R.function(pure=False)
    def shown(x: R.Tensor((3, 4, 4), "float32")) -> R.Object:
        cls = Module
        cache = cls.create(R.prim_value(0))
        out = cls.forward(cache, x, R.shape([5]), R.shape([3]))
        return (cache, out)

    @R.function(pure=False)
    def full(x: R.Tensor((8, 4, 4), "float32")) -> R.Object:
        cls = Module
        cache = cls.create(R.prim_value(0))
        first = cls.forward(cache, x, R.shape([5]), R.shape([8]))
        second = cls.forward(cache, x, R.shape([5]), R.shape([8]))
        third = cls.forward(cache, x, R.shape([5]), R.shape([8]))
        return third

    @R.function(pure=False)
    def nobody(mode: R.Prim("int64")) -> R.Object:
        cls = Module
        cache = cls.create(mode)
        _ = R.call_packed("vm.builtin.kv_state_popn", cache, R.prim_value(3), R.prim_value(1), ty_args=(R.Object,))
        return cache

    @R.function(pure=False)
    def no_cache(x: R.Tensor((2,), "float32")) -> R.Object:
        forged = ("paged cache of keys and values", x, x, x, x, x, x, x)
        _ = R.call_packed("vm.builtin.kv_state_clear", forged, ty_args=(R.Object,))
        return forged

    # A tuple that looks like a cache, and one whose forwards are too large.
    @R.function(pure=False)
    def forged(x: R.Tensor((2, 4), "float32"), n: R.Prim("int64")) -> R.Object:
        t = (x, n)
        v = R.call_packed("vm.builtin.attention_kv_cache_append", t, x, ty_args=(R.Object,))
        return v

    @R.function(pure=False)
    def huge(config: R.Shape(ndim=5)) -> R.Object:
        zero = R.const(0.0, "float32")
        cache = R.call_packed("vm.builtin.paged_attention_kv_cache_create", config, R.shape([0, 1]), R.prim_value(2), R.prim_value(1), R.prim_value(4), R.prim_value(4), R.shape([0]), R.prim_value(0), R.prim_value(0), R.prim_value(T.float64(1.0)), R.prim_value(T.float64(10000.0)), R.null_value(), zero, ty_args=(R.Object,))
        return cache

    @R.function(pure=False)
    def again(mode: R.Prim("int64")) -> R.Object:
        cls = Module
        cache = cls.create(mode)
        _ = R.call_packed("vm.builtin.kv_state_begin_forward", cache, R.shape([5, 5]), R.shape([9, 1]), ty_args=(R.Object,))
        return cache
