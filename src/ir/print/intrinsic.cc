// Calls in TensorIR: intrinsics by name, with the result's dtype if their text has it; functions of the module.
#include "ir/print/printer_impl.h"
#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/intrinsic/host.h"

namespace rldb::ir::print_detail {

// "float32"; T.handle("int64").ty, a pointer to something in particular.
void Printer::result_type(const Call* c) {
  if (const auto* p = as<PointerType>(c->type)) {
    pointer_type(p, true);
    out_ += ".ty";
  } else {
    dtype_literal(c->dtype());
  }
}

// T.call_intrin of an intrinsic by its registered name, for forms that its own spelling would not read back as.
void Printer::by_name(const Call* c, std::string_view name) {
  bool first = true;
  t("call_intrin");
  out_ += '(';
  comma(first);
  result_type(c);
  comma(first);
  string_literal(std::string(current() ? "tirx." : kTirPrefix).append(name));
  call_args(c->args, first);
  out_ += ')';
}

// T.if_then_else with a known condition, T.likely of a literal (make_unary), bits of literals and shifts by 0
// (make_bits).
static bool is_folded_when_read(Intrinsic id, const Call* c) {
  if (c->args.empty()) return false;
  if (id == intrin::IfThenElse) return is_number(c->args[0]);
  if (id == intrin::Likely) return isa<IntImm>(c->args[0]);
  const bool shifts = id == intrin::ShiftLeft || id == intrin::ShiftRight;
  const bool bits = shifts || id == intrin::BitwiseAnd || id == intrin::BitwiseOr || id == intrin::BitwiseXor;
  const auto* by = bits && c->args.size() == 2 ? as<IntImm>(c->args[1]) : nullptr;
  const DType t = c->args[0]->dtype();
  if (!by || !t.is_int() || !t.is_scalar() || t.bits < 32) return false;
  if (shifts && (by->value < 0 || by->value >= t.bits)) return false;
  return isa<IntImm>(c->args[0]) || (shifts && by->value == 0);
}

void Printer::tir_call(const Call* c) {
  bool first = true;
  const auto* op = as<Op>(c->callee);
  std::string_view name;
  const IntrinsicInfo* row = called_intrinsic(c);
  if (op != nullptr) {
    name = op->name;
    for (const std::string_view prefix : {std::string_view("tirx."), kTirPrefix})
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    if (row != nullptr && is_folded_when_read(row->id, c)) return by_name(c, name);
    t(row != nullptr ? row->printed : name);
  } else if (const auto* g = as<GlobalVar>(c->callee)) {
    out_ += module_ != nullptr ? module_->name : std::string_view("Module");
    out_ += '.';
    out_ += g->name;
  } else if (const auto* ext = as<ExternFunc>(c->callee)) {
    t(info(intrin::CallExtern).printed);
    out_ += '(';
    comma(first);
    dtype_literal(c->dtype());
    comma(first);
    string_literal(ext->symbol);
    call_args(c->args, first);
    out_ += ')';
    return;
  } else {
    expr(c->callee, kAtom);
  }
  out_ += '(';
  if (row != nullptr && row->dtype == IntrinsicDType::DTypeFirst) {
    comma(first);
    result_type(c);
  }
  for (const Expr* e : c->args) {
    comma(first);
    expr(e);
  }
  if (row != nullptr && row->dtype == IntrinsicDType::DTypeLast) {
    comma(first);
    result_type(c);
  }
  keyword_attrs(c->attrs, first);
  out_ += ')';
}

}  // namespace rldb::ir::print_detail
