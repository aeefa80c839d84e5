// Conversion of values to a row's declared kinds: attributes to an AttrType, expressions to an ArgKind.
#pragma once

#include <optional>

#include "rldb/ops/op_info.h"

namespace rldb::ops {

// The attribute in the declared form, or null when it does not fit.
const ir::Attr* convert_attr(ir::Context& ctx, AttrType type, bool nullable, const ir::Attr* value);
std::string_view describe(AttrType type);
std::string_view describe(ArgKind kind);
// "an int", "a list", ... for messages.
std::string describe(const ir::Attr* a);
std::string describe(const ir::Expr* e);
std::optional<std::int64_t> int_of(const ir::Attr* a);
std::optional<double> float_of(const ir::Attr* a);
// Attributes that TVM derives from others when they are omitted (out_layout from data_layout).
void derive_attrs(const OpInfo& info, std::vector<ir::NamedAttr>& attrs);

}  // namespace rldb::ops
