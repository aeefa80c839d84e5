// The fields of a tensor's header in text: each function gives nothing where the value is not a tensor of its kind.
#pragma once

#include <optional>

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// x.ndim, x.byte_offset, x.elem_offset.
std::optional<Val> tensor_field(Reader& r, const Val& object, std::string_view name, Node n);
// x.dtype.type_code, x.dtype.bits, x.dtype.lanes, where `owner` is x.
bool may_be_dtype_field(Reader& r, Node n);
std::optional<Val> tensor_dtype_field(Reader& r, const Val& owner, Node n);
// x.strides[i]; x.shape[i] where the type does not tell: `owner` is x, `axis` is i.
bool may_be_axis_field(Reader& r, Node n);
std::optional<Val> tensor_axis_field(Reader& r, const Val& owner, const Val& axis, Node n);

}  // namespace rldb::frontend::script
