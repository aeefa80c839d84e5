#include "rldb/tir_passes/helpers.h"

namespace rldb::passes {

using namespace ir;

bool is_set(Span<NamedAttr> attrs, std::string_view name) {
  const Attr* a = find_attr(attrs, name);
  if (!a) return false;
  const auto* e = a->is(AttrKind::Expr) ? as<IntImm>(a->node) : nullptr;
  return e ? e->value != 0 : a->integer != 0;
}

bool is_void(const Type* t) {
  const auto* tuple = as<TupleType>(t);
  return tuple && tuple->fields.empty();
}

std::string last_part(std::string_view dotted) { return std::string(dotted.substr(dotted.rfind('.') + 1)); }

std::string_view given_text(const pipeline::WrittenValue& value) {
  return value.is(pipeline::WrittenValue::Kind::None) ? std::string_view("nothing") : std::string_view(value.written);
}

}  // namespace rldb::passes
