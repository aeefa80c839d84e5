// Packed functions of TVM's runtime: sorting (`tvm.contrib.sort`), collectives (`runtime.disco`) of one worker, the
// key-value caches of a decoder, the state of recurrent layers.
//
// Sorting is stable; NaN comes after all numbers, and before them in descending order. The axis may count from
// the end. Tensors are of any number type.
// Users: session (registers them by bytecode/runtime_function.def).
#pragma once

#include "rldb/runtime/value.h"

namespace rldb::runtime {

// (data, out, axis, is_ascend)
Result<Value> contrib_sort(PackedArgs args);
// (data, out, axis, is_ascend): the indices in order, in any number type.
Result<Value> contrib_argsort(PackedArgs args);
// (data, valid_count, out, axis, is_ascend): only the first valid_count elements of each row are sorted; the
// indices of the others stay as they are.
Result<Value> contrib_argsort_nms(PackedArgs args);
// (data, out..., k, axis, ret_type, is_ascend): ret_type selects the outputs: "values", "indices", "both".
Result<Value> contrib_topk(PackedArgs args);

// The number of this worker as a shape: 0.
Result<Value> disco_worker_id(PackedArgs args);
// (x, shape of the kind of reduction, in_group, out)
Result<Value> disco_allreduce(PackedArgs args);
// (x, strategy, out)
Result<Value> disco_custom_allreduce(PackedArgs args);
// (x, in_group, out); an output for several workers is an error.
Result<Value> disco_allgather(PackedArgs args);
Result<Value> disco_broadcast(PackedArgs args);
Result<Value> disco_scatter(PackedArgs args);
// (x, in_group, out): the out of worker 0; null for the others
Result<Value> disco_gather(PackedArgs args);
// (x, worker) and (x); (out, worker) and (out)
Result<Value> disco_send(PackedArgs args);
Result<Value> disco_send_to_next_group(PackedArgs args);
Result<Value> disco_receive(PackedArgs args);
Result<Value> disco_receive_from_prev_group(PackedArgs args);

// A cache is a tuple: its memory, and the number of filled rows. (first rows, shape reserved, fill count)
Result<Value> kv_cache_create(PackedArgs args);
// (cache, rows): the cache. The memory is doubled when it is too small.
Result<Value> kv_cache_append(PackedArgs args);
Result<Value> kv_cache_update(PackedArgs args);
// (cache, shape): a view of the filled rows.
Result<Value> kv_cache_view(PackedArgs args);
// (tuple of caches) and (tuple of caches, n)
Result<Value> kv_cache_clear(PackedArgs args);
Result<Value> kv_cache_pop(PackedArgs args);

// The paged cache: also a tuple, of pages that sequences share (docs/runtime.md). Unsupported operations are errors
// that name them.
// (arguments as of TVM's constructor; the functions for a GPU, from the 14th argument on, are not called)
Result<Value> paged_cache_create(PackedArgs args);
// Sequences of a paged cache, or of the state of recurrent layers.
Result<Value> kv_state_clear(PackedArgs args);            // (state)
Result<Value> kv_state_add_sequence(PackedArgs args);     // (state, sequence)
Result<Value> kv_state_remove_sequence(PackedArgs args);  // (state, sequence)
Result<Value> kv_state_fork_sequence(PackedArgs args);    // (state, parent, child[, position]); -1: at the end
Result<Value> kv_state_popn(PackedArgs args);             // (state, sequence, rows)
Result<Value> kv_state_begin_forward(PackedArgs args);    // (state, sequences, rows that each gets[, parents of nodes])
Result<Value> kv_state_end_forward(PackedArgs args);      // (state)
Result<Value> kv_cache_enable_window(PackedArgs args);    // (cache, sequence, rows, first rows that are kept)
Result<Value> kv_cache_commit_tree(PackedArgs args);      // (cache, sequences, the last accepted node of each)
Result<Value> kv_cache_empty(PackedArgs args);            // (cache)
Result<Value> kv_cache_available_pages(PackedArgs args);  // (cache)
Result<Value> kv_cache_total_length(PackedArgs args);     // (cache)
Result<Value> kv_cache_query_positions(PackedArgs args);  // (cache): int32, of the rows of the forward
Result<Value> kv_cache_debug_get(PackedArgs args);        // (cache, sequence, begin, end, keys, values)
Result<Value> kv_cache_debug_get_latent(PackedArgs args);  // (cache, sequence, begin, end, latent rows)
// Attention, whole and in its parts; `log` is the base-2 logarithm of the sum of the weights, for the merge.
Result<Value> kv_cache_attention(PackedArgs args);        // (cache, layer, scale, queries and keys and values, out)
Result<Value> kv_cache_self_attention(PackedArgs args);   // (cache, layer, scale, queries, keys, values, out, log)
Result<Value> kv_cache_cross_attention(PackedArgs args);  // (cache, layer, scale, queries, out, log)
Result<Value> kv_cache_append_latent(PackedArgs args);    // (cache, layer, latent rows): the cache
Result<Value> kv_cache_merge_attention(PackedArgs args);  // (cache, out, log, other out, other log): (out, log)

// The state of recurrent layers, with a history for undoing steps.
// (layers, sequences, steps of history, functions that read, functions that write, tuple of initial states)
Result<Value> rnn_state_create(PackedArgs args);
Result<Value> rnn_state_get(PackedArgs args);        // (state, layer, number, out): of the sequences of the forward
Result<Value> rnn_state_set(PackedArgs args);        // (state, layer, number, values): the state
Result<Value> rnn_state_debug_get(PackedArgs args);  // (state, layer, number, sequence): a tensor

// (machine, function, tuple of arguments, index[, shape]) and (machine, function, index): calls of the function.
Result<Value> cuda_graph_run(PackedArgs args);
Result<Value> cuda_graph_alloc(PackedArgs args);

}  // namespace rldb::runtime
