// The values of a run's inputs as a user types them. Users: the arguments of a run, `:input`, `:bisect
// --expected-output`.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "rldb/ir/type.h"
#include "rldb/runtime/error.h"
#include "rldb/runtime/value.h"

namespace rldb::session {

// Null: the session has no such value.
using FindValue = std::function<const runtime::Value*(std::string_view name)>;

// In this order: the name of a value; the forms of runtime/tensor_file.h (`2x3xf32=ones`, `@x.npy`) and `@x.pb`; a list
// of numbers (`[[1, 2], [3, 4]]`); an expression over the session's values (docs/expressions.md: `np.arange(6)`,
// `(x, $a + 1)`). Numbers and lists take the dtype of the type, and so do tensors that an expression has computed in a
// dtype of plain numbers (int64, float64, bool); named values, files and literals keep theirs. A null type leaves the
// value as it is.
runtime::Result<runtime::Value> typed_value(std::string_view text, const ir::Type* type, const FindValue& find);
// Of the first word of a call: no function has such a name.
bool looks_like_value(std::string_view word);

// A value in the form of a type: a number for a scalar or a tensor without dimensions, a list for a tensor or a shape.
// A fraction for an integer dtype, a number out of the dtype's range and a list that is no tensor are errors;
// everything else that does not fit is left to the check of arguments.
enum class Tensors : std::uint8_t { Keep, Convert };
runtime::Result<runtime::Value> in_form_of(const ir::Type* type, const runtime::Value& value,
                                           Tensors tensors = Tensors::Keep);

}  // namespace rldb::session
