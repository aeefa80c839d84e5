// Conventions shared by passes on functions that have a code generator of their own (cutlass, tensorrt, ...).
#pragma once

#include "passes/common.h"
#include "rldb/ir/attr_name/fusion.h"
#include "rldb/source/diagnostic_pattern.h"

namespace rldb::passes {

// `cutlass` of the pattern name `cutlass.conv2d`.
inline ir::Result<std::string_view> codegen_name(std::string_view composite) {
  const std::size_t dot = composite.find('.');
  if (dot == std::string_view::npos || dot == 0)
    return support::Failure(source::message(diag::PassCompositeName, composite));
  return composite.substr(0, dot);
}

// Already a group of its own: its contents are not grouped again.
inline bool is_for_codegen(const ir::Function* f) {
  return is_set(f->attrs, attr_name::Primitive) || ir::find_attr(f->attrs, attr_name::Composite) ||
         ir::find_attr(f->attrs, attr_name::Codegen);
}

}  // namespace rldb::passes
