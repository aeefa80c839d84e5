// Declares the legalisation functions that the rows of op.def name.
#pragma once

#include "rldb/ops/legalize.h"

namespace rldb::ops::legal {

inline constexpr LegalizeFn none = nullptr;
inline constexpr LegalizeFn adaptive_pool = none;
inline constexpr LegalizeFn affine_grid = none;
inline constexpr LegalizeFn arange = none;
inline constexpr LegalizeFn argreduce = none;
inline constexpr LegalizeFn astype = none;
inline constexpr LegalizeFn attention = none;
inline constexpr LegalizeFn avg_pool2d_backward = none;
inline constexpr LegalizeFn batch_norm = none;
inline constexpr LegalizeFn binary = none;
inline constexpr LegalizeFn broadcast_to = none;
inline constexpr LegalizeFn bucketize = none;
inline constexpr LegalizeFn ccl = none;
inline constexpr LegalizeFn clip = none;
inline constexpr LegalizeFn collapse_sum = none;
inline constexpr LegalizeFn concat = none;
inline constexpr LegalizeFn conv = none;
inline constexpr LegalizeFn conv_transpose = none;
inline constexpr LegalizeFn cross_entropy = none;
inline constexpr LegalizeFn dequantize = none;
inline constexpr LegalizeFn dropout = none;
inline constexpr LegalizeFn dynamic_strided_slice = none;
inline constexpr LegalizeFn einsum = none;
inline constexpr LegalizeFn ewise_fma = none;
inline constexpr LegalizeFn expand_dims = none;
inline constexpr LegalizeFn eye = none;
inline constexpr LegalizeFn eye_like = none;
inline constexpr LegalizeFn flatten = none;
inline constexpr LegalizeFn flip = none;
inline constexpr LegalizeFn full = none;
inline constexpr LegalizeFn full_like = none;
inline constexpr LegalizeFn gather_elements = none;
inline constexpr LegalizeFn gather_nd = none;
inline constexpr LegalizeFn get_valid_counts = none;
inline constexpr LegalizeFn group_norm = none;
inline constexpr LegalizeFn hamming_window = none;
inline constexpr LegalizeFn identity = none;
inline constexpr LegalizeFn index_put = none;
inline constexpr LegalizeFn index_tensor = none;
inline constexpr LegalizeFn inspect = none;
inline constexpr LegalizeFn instance_norm = none;
inline constexpr LegalizeFn layer_norm = none;
inline constexpr LegalizeFn layout_transform = none;
inline constexpr LegalizeFn leakyrelu = none;
inline constexpr LegalizeFn matmul = none;
inline constexpr LegalizeFn meshgrid = none;
inline constexpr LegalizeFn multibox_transform_loc = none;
inline constexpr LegalizeFn nll_loss = none;
inline constexpr LegalizeFn nll_loss_backward = none;
inline constexpr LegalizeFn one_hot = none;
inline constexpr LegalizeFn ones_zeros = none;
inline constexpr LegalizeFn ones_zeros_like = none;
inline constexpr LegalizeFn outer = none;
inline constexpr LegalizeFn pad = none;
inline constexpr LegalizeFn permute_dims = none;
inline constexpr LegalizeFn pixel_shuffle = none;
inline constexpr LegalizeFn pool = none;
inline constexpr LegalizeFn prelu = none;
inline constexpr LegalizeFn quantize = none;
inline constexpr LegalizeFn redistribute_replica_to_shard = none;
inline constexpr LegalizeFn reduce = none;
inline constexpr LegalizeFn repeat = none;
inline constexpr LegalizeFn reshape = none;
inline constexpr LegalizeFn resize = none;
inline constexpr LegalizeFn reverse_sequence = none;
inline constexpr LegalizeFn rms_norm = none;
inline constexpr LegalizeFn scatter_elements = none;
inline constexpr LegalizeFn scatter_nd = none;
inline constexpr LegalizeFn shape_to_tensor = none;
inline constexpr LegalizeFn size = none;
inline constexpr LegalizeFn slice_scatter = none;
inline constexpr LegalizeFn softmax = none;
inline constexpr LegalizeFn softplus = none;
inline constexpr LegalizeFn split = none;
inline constexpr LegalizeFn squeeze = none;
inline constexpr LegalizeFn stack = none;
inline constexpr LegalizeFn strided_slice = none;
inline constexpr LegalizeFn take = none;
inline constexpr LegalizeFn take_backward = none;
inline constexpr LegalizeFn tile = none;
inline constexpr LegalizeFn tril = none;
inline constexpr LegalizeFn unary = none;
inline constexpr LegalizeFn unary_nn = none;
inline constexpr LegalizeFn where = none;

}  // namespace rldb::ops::legal
