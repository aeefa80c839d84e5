// Operators: Python's signs and precedence, as few parentheses as possible; the node form where a sign would fold.
#include "ir/print/printer_impl.h"

namespace rldb::ir::print_detail {
namespace {

const char* operator_text(BinaryKind k) {
  using enum BinaryKind;
  if (k == Add) return " + ";
  if (k == Sub) return " - ";
  if (k == Mul) return " * ";
  if (k == Div) return " / ";
  if (k == FloorDiv) return " // ";
  if (k == FloorMod) return " % ";
  if (k == EQ) return " == ";
  if (k == NE) return " != ";
  if (k == LT) return " < ";
  if (k == LE) return " <= ";
  if (k == GT) return " > ";
  if (k == GE) return " >= ";
  if (k == And) return " and ";
  if (k == Or) return " or ";
  return "";
}

int operator_precedence(BinaryKind k) {
  using enum BinaryKind;
  if (k == Add || k == Sub) return kAdd;
  if (k == Mul || k == Div || k == FloorDiv || k == FloorMod) return kMul;
  if (k >= EQ && k <= GE) return kCompare;
  return k == And ? kAnd : kOr;
}

// The function for a node that has no operator, or whose operator would fold or means something else. The functions
// fold what the operators fold; the node's own name never does.
std::string_view node_name(BinaryKind k, bool folds) {
  if (folds) return to_string(k);
  if (k == BinaryKind::Min) return "min";
  if (k == BinaryKind::Max) return "max";
  if (k == BinaryKind::Mod) return "truncmod";
  return to_string(k);
}

bool is_value(const Expr* e, double v) {
  if (const auto* i = as<IntImm>(e)) return double(i->value) == v;
  if (const auto* f = as<FloatImm>(e)) return f->value == v;
  return false;
}

// Whether reading `a op b` would fold it: TVM's operators fold two constants and the neutral elements.
bool would_fold(const BinaryExpr* e) {
  using enum BinaryKind;
  const Expr* a = e->a;
  const Expr* b = e->b;
  if (is_number(a) && is_number(b)) return true;
  const BinaryKind k = e->op();
  if (k == Add) return is_value(a, 0) || is_value(b, 0);
  if (k == Sub) return is_value(b, 0);
  if (k == Mul) return is_value(a, 0) || is_value(b, 0) || is_value(a, 1) || is_value(b, 1);
  if (k == Div || k == FloorDiv) return is_value(a, 0) || is_value(b, 1);
  if (k == FloorMod || k == Mod) return is_value(a, 0) || is_value(b, 1);
  if (k == And || k == Or) return is_number(a) || is_number(b);
  return false;
}

}  // namespace

std::string_view Printer::sugar(const BinaryExpr* e) const {
  if (e->a->dtype() != e->b->dtype()) return {};
  if (would_fold(e)) return {};
  if (e->kind == BinaryKind::Div && e->a->dtype().is_integral()) return {};
  return operator_text(e->op());
}

int Printer::precedence(const Expr* e) const {
  if (const auto* b = as<BinaryExpr>(e)) return sugar(b).empty() ? int(kAtom) : operator_precedence(b->op());
  if (const auto* n = as<NotExpr>(e)) return is_number(n->a) ? int(kAtom) : int(kNot);
  if (isa<Lambda>(e)) return kLambda;
  return kAtom;
}

void Printer::node_form(std::string_view name, const Expr* a, const Expr* b) {
  t(name);
  out_ += '(';
  expr(a);
  if (b != nullptr) {
    out_ += ", ";
    expr(b);
  }
  out_ += ')';
}

// Chains to the left (a + b + c) are walked with a loop: they are the deep ones.
void Printer::binary(const BinaryExpr* e) {
  std::string_view op = sugar(e);
  if (op.empty()) return node_form(node_name(e->op(), would_fold(e)), e->a, e->b);
  std::vector<std::pair<const BinaryExpr*, std::string_view>> spine{{e, op}};
  while (true) {
    const auto* left = as<BinaryExpr>(spine.back().first->a);
    if (left == nullptr) break;
    std::string_view left_op = sugar(left);
    if (left_op.empty()) break;
    int mine = operator_precedence(spine.back().first->op());
    int his = operator_precedence(left->op());
    if (his < mine || (his == mine && mine == kCompare)) break;  // a chained comparison means something else
    spine.emplace_back(left, left_op);
  }
  int lowest = operator_precedence(spine.back().first->op());
  expr(spine.back().first->a, lowest == kCompare ? lowest + 1 : lowest);
  for (auto it = spine.rbegin(); it != spine.rend(); ++it) {
    out_ += it->second;
    expr(it->first->b, operator_precedence(it->first->op()) + 1);
  }
}

void Printer::scalar_literal(DType dtype, double v) {
  t(runtime::to_string(dtype));
  out_ += '(';
  float_literal(v);
  out_ += ')';
}

// Bare if its dtype is the default of a bare number in this place; so is a bool in Relax.
void Printer::int_literal(DType dtype, std::int64_t v) {
  std::string text = dtype.is_bool()   ? (v != 0 ? "True" : "False")
                     : dtype.is_uint() ? std::to_string(static_cast<std::uint64_t>(v))
                                       : std::to_string(v);
  if (in_tir_ ? dtype == DType::Int(32) : dtype == DType::Int(64) || dtype.is_bool()) {
    out_ += text;
    return;
  }
  t(runtime::to_string(dtype));
  out_ += '(' + text + ')';
}

void Printer::sum(const Expr* a, const Expr* b) {
  const auto* x = as<IntImm>(a);
  const auto* y = as<IntImm>(b);
  if (x != nullptr && y != nullptr) return int_literal(x->dtype(), x->value + y->value);
  if (x != nullptr && x->value == 0) return expr(b);
  if (y != nullptr && y->value == 0) return expr(a);
  expr(a, kAdd);
  out_ += " + ";
  if (y != nullptr) return int_literal(a->dtype().is_integral() ? a->dtype().element() : y->dtype(), y->value);
  expr(b, kAdd + 1);
}

}  // namespace rldb::ir::print_detail
