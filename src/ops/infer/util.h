// Shared by the inference functions: reading arguments, comparing dims, making result types.
#pragma once

#include <optional>

#include "ops/arguments/attr_value.h"
#include "rldb/ir/arith.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/op_info.h"

namespace rldb::ops {

using ir::DType;
using ir::Expr;
using ir::TensorType;
using ir::Type;
using Dims = std::vector<const Expr*>;

// A tensor's type as the inference functions return it.
inline const Type* typed(const TensorType* t) { return t; }
support::Failure<source::Message> type_error(const OpInfo& info, std::string text, int argument = -1);
// The same about an attribute: the place is that of the attribute in the text.
support::Failure<source::Message> attr_error(const OpInfo& info, std::string_view attribute, std::string text);
// The argument's tensor type; the error is that it must be a tensor.
Result<const TensorType*> tensor_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index);
// The same for an argument that may be a scalar: null for a scalar.
Result<const TensorType*> tensor_or_prim_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index);
Result<std::vector<const TensorType*>> tensors_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index);
// The dims of a tensor: its own, or those of the variable that holds its shape.
std::optional<Dims> known_dims(const TensorType* t);
// The known dims of a shape argument (literal, or variable of a shape type with values).
std::optional<Dims> shape_arg_dims(const Expr* shape);
Result<const ir::ShapeType*> shape_arg(const OpInfo& info, const ir::CallSpec& call, std::size_t index);
// The scalars of a tuple argument; nullopt when it is not literal.
std::optional<Dims> prims_arg(const Expr* tuple);

std::int64_t attr_int(const ir::CallSpec& call, std::string_view name);
bool attr_bool(const ir::CallSpec& call, std::string_view name);
double attr_float(const ir::CallSpec& call, std::string_view name);
std::vector<double> attr_floats(const ir::CallSpec& call, std::string_view name);
std::string_view attr_string(const ir::CallSpec& call, std::string_view name);
DType attr_dtype(const ir::CallSpec& call, std::string_view name);  // void for None
std::optional<std::vector<std::int64_t>> attr_ints(const ir::CallSpec& call,
                                                   std::string_view name);  // nullopt for None
// A list of ints whose items may be symbolic.
Dims attr_dims(ir::Context& ctx, const ir::CallSpec& call, std::string_view name);
bool attr_is_none(const ir::CallSpec& call, std::string_view name);

// An axis in [0, ndim); unchanged if ndim is unknown. `attribute` is where the text gives it; by default, `axis`.
Result<int> normalize_axis(const OpInfo& info, std::int64_t axis, int ndim, std::string_view attribute);
Result<int> normalize_axis(const OpInfo& info, std::int64_t axis, int ndim);
Result<std::vector<int>> normalize_axes(const OpInfo& info, const std::vector<std::int64_t>& axes, int ndim,
                                        std::string_view attribute);
Result<std::vector<int>> normalize_axes(const OpInfo& info, const std::vector<std::int64_t>& axes, int ndim);

bool same_dim(ir::Context& ctx, const Expr* a, const Expr* b);
bool different_dim(ir::Context& ctx, const Expr* a, const Expr* b);  // provably
bool is_one(const Expr* e);
const Expr* simplify(ir::Context& ctx, const Expr* e);
Dims dims_of(const TensorType* t);

// `like`: whose device the result is on, or null.
const TensorType* make_tensor(ir::Context& ctx, const Dims& shape, DType dtype, const TensorType* like);
const TensorType* make_ndim(ir::Context& ctx, int ndim, DType dtype, const TensorType* like);
// Known dims, or only the rank.
const TensorType* make_tensor_or_ndim(ir::Context& ctx, const std::optional<Dims>& shape, int ndim, DType dtype,
                                      const TensorType* like);
// A tensor whose shape is given by an argument: a literal gives dims, a variable remains the holder of the shape.
const TensorType* make_shaped(ir::Context& ctx, const Expr* shape, DType dtype, const ir::VDevice* vdevice);
// The same shape part with another dtype.
const TensorType* with_dtype(ir::Context& ctx, const TensorType* t, DType dtype);
const TensorType* on_device(ir::Context& ctx, const TensorType* t, const ir::VDevice* vdevice);
// The shape part of `t` with the dtype and the device of `like`.
const TensorType* with_shape_of(ir::Context& ctx, const TensorType* t, const TensorType* like);

// Void when one is unknown; a failure when two are known and differ. Null pointers are skipped.
Result<DType> common_dtype(const OpInfo& info, const std::vector<const TensorType*>& types);
// A tensor on the device that the inputs share, or null: if no input has one, and if two differ.
const TensorType* on_common_device(const std::vector<const TensorType*>& types);
// The same, where different devices are an error.
Result<const TensorType*> on_equal_device(const OpInfo& info, const std::vector<const TensorType*>& types);

// (2, n), as messages show a shape.
std::string shape_text(std::span<const Expr* const> dims);

// NumPy broadcasting of two shapes. An error if they certainly do not fit; nullopt if it cannot be told.
Result<std::optional<Dims>> broadcast_dims(ir::Context& ctx, const OpInfo& info, const Dims& a, const Dims& b);
// begin, end clamped into [0, extent] as Python slices do, and the number of elements.
const Expr* slice_length(ir::Context& ctx, const Expr* begin, const Expr* end, const Expr* stride, const Expr* extent,
                         bool assume_inbound);
// The first element of the slice after clamping.
const Expr* slice_begin(ir::Context& ctx, const Expr* begin, const Expr* stride, const Expr* extent,
                        bool assume_inbound);

}  // namespace rldb::ops
