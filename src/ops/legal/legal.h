// Declares the legalisation functions that the rows of op.def name; `none`: the operator has no body.
#pragma once

#include "rldb/ops/legalize.h"

namespace rldb::ops::legal {

inline constexpr LegalizeFn none = nullptr;

Result<const ir::Expr*> adaptive_pool(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> affine_grid(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> arange(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> argreduce(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> astype(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> attention(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> avg_pool2d_backward(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> batch_norm(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> binary(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> broadcast_to(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> bucketize(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> clip(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> collapse_sum(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> concat(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> conv(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> conv_transpose(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> cross_entropy(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> dequantize(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> dropout(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> dynamic_strided_slice(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> einsum(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> ewise_fma(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> expand_dims(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> eye(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> eye_like(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> flatten(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> flip(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> full(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> full_like(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> gather_elements(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> gather_nd(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> group_norm(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> hamming_window(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> identity(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> index_put(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> index_tensor(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> inspect(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> instance_norm(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> layer_norm(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> layout_transform(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> leakyrelu(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> matmul(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> meshgrid(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> nll_loss(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> nll_loss_backward(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> one_hot(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> ones_zeros(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> ones_zeros_like(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> outer(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> pad(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> permute_dims(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> pixel_shuffle(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> pool(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> prelu(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> quantize(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> reduce(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> repeat(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> reshape(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> resize(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> reverse_sequence(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> rms_norm(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> scatter_elements(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> scatter_nd(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> shape_to_tensor(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> size(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> slice_scatter(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> softmax(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> softplus(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> split(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> squeeze(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> stack(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> strided_slice(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> take(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> take_backward(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> tile(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> tril(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> unary(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> unary_nn(Legalizer& l, const ir::Call* c);
Result<const ir::Expr*> where(Legalizer& l, const ir::Call* c);

}  // namespace rldb::ops::legal
