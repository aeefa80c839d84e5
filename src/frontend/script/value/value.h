// Val: the meaning of an expression while it is being read: a Python value that only exists at parse time
// (number, string, tuple, dictionary, type, dtype), or a piece of IR. convert.h turns it into the form a place needs.
//
// Trivially copyable; lists live in the reader's scratch arena. `Poison` replaces something already reported: it is not
// reported again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "frontend/cst/tree.h"
#include "rldb/ir/context.h"

namespace rldb::frontend::script {

enum class ValKind : std::uint8_t {
#define RLDB_VAL_KIND(Kind, ...) Kind,
#include "frontend/script/value/val_kind.def"
};

enum class Space : std::uint8_t { None, Relax, Tir, Ir, Tvm, Other };

struct Val {
  ValKind kind = ValKind::Poison;
  Space space = Space::None;  // Path
  ir::DType dtype;
  bool fresh = false;  // Expr: a variable made right here, which `x = ...` names rather than binds; any: a meta value
  std::int64_t integer = 0;  // Int, Bool
  double floating = 0;
  std::string_view text;  // Str; Path: after the namespace ("nn.relu"); Method
  std::span<const Val> items;
  const void* pointer = nullptr;
  cst::Node cst;  // where it was written

  bool is(ValKind k) const { return kind == k; }
  bool poison() const { return kind == ValKind::Poison; }
  bool is_number() const { return kind == ValKind::Int || kind == ValKind::Float || kind == ValKind::Bool; }
  bool is_sequence() const { return kind == ValKind::Tuple || kind == ValKind::List; }
  const ir::Expr* expr() const { return kind == ValKind::Expr ? static_cast<const ir::Expr*>(pointer) : nullptr; }
  const ir::Buffer* buffer() const {
    return kind == ValKind::Buffer || kind == ValKind::Region ? static_cast<const ir::Buffer*>(pointer) : nullptr;
  }
  const ir::Type* type() const { return kind == ValKind::Type ? static_cast<const ir::Type*>(pointer) : nullptr; }
  const ir::Attr* attr() const { return kind == ValKind::Attr ? static_cast<const ir::Attr*>(pointer) : nullptr; }

  static Val of(ValKind k) {
    Val v;
    v.kind = k;
    return v;
  }
  static Val none() { return of(ValKind::None); }
  static Val nothing() { return of(ValKind::Nothing); }
  static Val of_int(std::int64_t i) {
    Val v = of(ValKind::Int);
    v.integer = i;
    return v;
  }
  static Val of_bool(bool b) {
    Val v = of(ValKind::Bool);
    v.integer = b;
    return v;
  }
  static Val of_float(double d) {
    Val v = of(ValKind::Float);
    v.floating = d;
    return v;
  }
  static Val of_str(std::string_view s) {
    Val v = of(ValKind::Str);
    v.text = s;
    return v;
  }
  static Val of_dtype(ir::DType t) {
    Val v = of(ValKind::DType);
    v.dtype = t;
    return v;
  }
  static Val of_list(ValKind k, std::span<const Val> items) {
    Val v = of(k);
    v.items = items;
    return v;
  }
  static Val of(const ir::Expr* e) { return with(ValKind::Expr, e); }
  static Val of(const ir::Buffer* b) { return with(ValKind::Buffer, b); }
  static Val of(const ir::Type* t) { return with(ValKind::Type, t); }
  static Val of(const ir::Attr* a) { return with(ValKind::Attr, a); }

 private:
  static Val with(ValKind k, const void* p) {
    if (!p) return {};
    Val v = of(k);
    v.pointer = p;
    return v;
  }
};

}  // namespace rldb::frontend::script
