// The form of tensors: order of dimensions, shapes from arguments, axes.
#pragma once

#include "rldb/expression/array.h"

namespace rldb::expression {

// An integer; `what` names it in the error.
runtime::Result<std::int64_t> integer_of(const runtime::Value& v, std::string_view what);
runtime::Result<double> real_of(const runtime::Value& v, std::string_view what);
runtime::Result<runtime::DType> dtype_of(const runtime::Value& v);
// An integer, or a tuple or shape of them.
runtime::Result<Dims> integers_of(const runtime::Value& v, std::string_view what);
// Axes counted from the front, each once; null is all of them.
runtime::Result<std::vector<std::size_t>> axes_of(const runtime::Value& v, std::size_t rank);

runtime::Result<support::Ref<runtime::Tensor>> transposed(const runtime::Tensor& t,
                                                          const std::vector<std::size_t>& order);
// Shares the same storage.
runtime::Result<support::Ref<runtime::Tensor>> reshaped(const support::Ref<runtime::Tensor>& t, Dims shape);

}  // namespace rldb::expression
