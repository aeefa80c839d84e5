// Scalar expressions: operators with Python's precedence and as few parentheses as it allows, literals, accesses.
#include <fmt/format.h>

#include <array>

#include "printer_impl.h"

namespace rldb::ir::print_detail {
namespace {

const char* operator_text(NodeKind k) {
  using enum NodeKind;
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

int operator_precedence(NodeKind k) {
  using enum NodeKind;
  if (k == Add || k == Sub) return kAdd;
  if (k == Mul || k == Div || k == FloorDiv || k == FloorMod) return kMul;
  if (k >= EQ && k <= GE) return kCompare;
  return k == And ? kAnd : kOr;
}

// The function that stands for a node whose operator would fold or means something else.
std::string_view node_name(NodeKind k) {
  if (k == NodeKind::Min) return "min";
  if (k == NodeKind::Max) return "max";
  if (k == NodeKind::Mod) return "truncmod";
  return to_string(k);
}

bool is_number(const Expr* e) { return isa<IntImm>(e) || isa<FloatImm>(e); }

bool is_value(const Expr* e, double v) {
  if (const auto* i = as<IntImm>(e)) return double(i->value) == v;
  if (const auto* f = as<FloatImm>(e)) return f->value == v;
  return false;
}

// Would reading `a op b` fold it? TVM's operators fold two constants and the neutral elements.
bool would_fold(const BinaryExpr* e) {
  using enum NodeKind;
  const Expr* a = e->a;
  const Expr* b = e->b;
  if (is_number(a) && is_number(b)) return true;
  NodeKind k = e->kind;
  if (k == Add) return is_value(a, 0) || is_value(b, 0);
  if (k == Sub) return is_value(b, 0);
  if (k == Mul) return is_value(a, 0) || is_value(b, 0) || is_value(a, 1) || is_value(b, 1);
  if (k == Div || k == FloorDiv) return is_value(a, 0) || is_value(b, 1);
  if (k == FloorMod) return is_value(a, 0) || is_value(b, 1);
  if (k == And || k == Or) return is_number(a) || is_number(b);
  return false;
}

}  // namespace

bool Printer::too_deep() {
  if (depth_ < kMaxDepth) return false;
  cut_ = true;
  out_ += "<nested too deep to print>";
  return true;
}

std::string_view Printer::sugar(const BinaryExpr* e) const {
  if (e->a->dtype() != e->b->dtype()) return {};
  if (would_fold(e)) return {};
  if (e->kind == NodeKind::Div && e->a->dtype().is_integral()) return {};
  return operator_text(e->kind);
}

int Printer::precedence(const Expr* e) const {
  if (const auto* b = as<BinaryExpr>(e)) return sugar(b).empty() ? int(kAtom) : operator_precedence(b->kind);
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
  if (op.empty()) return node_form(node_name(e->kind), e->a, e->b);
  std::vector<std::pair<const BinaryExpr*, std::string_view>> spine{{e, op}};
  while (true) {
    const auto* left = as<BinaryExpr>(spine.back().first->a);
    if (left == nullptr) break;
    std::string_view left_op = sugar(left);
    if (left_op.empty()) break;
    int mine = operator_precedence(spine.back().first->kind);
    int his = operator_precedence(left->kind);
    if (his < mine || (his == mine && mine == kCompare)) break;  // a chained comparison means something else
    spine.emplace_back(left, left_op);
  }
  int lowest = operator_precedence(spine.back().first->kind);
  expr(spine.back().first->a, lowest == kCompare ? lowest + 1 : lowest);
  for (auto it = spine.rbegin(); it != spine.rend(); ++it) {
    out_ += it->second;
    expr(it->first->b, operator_precedence(it->first->kind) + 1);
  }
}

void Printer::scalar_literal(DType dtype, double v) {
  t(runtime::to_string(dtype));
  out_ += '(';
  float_literal(v);
  out_ += ')';
}

void Printer::define_undefined(const Var* v) {
  std::string_view wanted = v->name.empty() ? std::string_view("v") : v->name;
  bool scalar = as<PrimType>(v->type) != nullptr || as<PointerType>(v->type) != nullptr;
  if (fragment_ || outer_ == nullptr || !scalar) {
    names_.define(v, wanted);
    return;
  }
  std::string_view name = names_.define_at(outer_->depth, v, wanted);
  if (rfc()) {
    if (!in_tir_) return;  // the text declares symbolic variables by using them
  }
  std::string text = std::string(name) + " = ";
  var_creation(v, text);
  prelude(std::move(text));
}

void Printer::var_use(const Var* v) {
  if (!names_.has(v)) {
    // A void value has no name in text: its binding is a bare expression.
    const auto* tuple = as<TupleType>(v->type);
    if (!fragment_ && !in_tir_ && tuple != nullptr && tuple->fields.empty()) {
      r("tuple()");
      return;
    }
    define_undefined(v);
  }
  out_ += names_.find(v);
}

void Printer::buffer_use(const Buffer* b) {
  if (!names_.has(b)) define_buffer(b);
  out_ += names_.find(b);
}

void Printer::exprs(Span<const Expr*> items) {
  bool first = true;
  for (const Expr* e : items) {
    comma(first);
    expr(e);
  }
}

void Printer::sum(const Expr* a, const Expr* b) {
  const auto* x = as<IntImm>(a);
  const auto* y = as<IntImm>(b);
  auto literal = [this](DType dtype, std::int64_t value) {
    bool bare = dtype == (in_tir_ ? DType::Int(32) : DType::Int(64));
    if (bare) {
      out_ += std::to_string(value);
      return;
    }
    t(runtime::to_string(dtype));
    out_ += '(' + std::to_string(value) + ')';
  };
  if (x != nullptr && y != nullptr) return literal(x->dtype(), x->value + y->value);
  if (x != nullptr && x->value == 0) return expr(b);
  if (y != nullptr && y->value == 0) return expr(a);
  expr(a, kAdd);
  out_ += " + ";
  if (y != nullptr) return literal(a->dtype().is_integral() ? a->dtype().element() : y->dtype(), y->value);
  expr(b, kAdd + 1);
}

void Printer::indices(Span<const Expr*> items) {
  if (items.empty()) {
    out_ += "[()]";
    return;
  }
  out_ += '[';
  bool first = true;
  for (const Expr* e : items) {
    comma(first);
    const auto* ramp = as<Ramp>(e);
    const auto* stride = ramp != nullptr ? as<IntImm>(ramp->stride) : nullptr;
    const auto* lanes = ramp != nullptr ? as<IntImm>(ramp->lanes) : nullptr;
    if (stride == nullptr || lanes == nullptr) {
      expr(e);
      continue;
    }
    expr(ramp->base);
    out_ += ':';
    IntImm length = *lanes;
    length.value = lanes->value * stride->value;
    sum(ramp->base, &length);
    if (stride->value != 1) {
      out_ += ':';
      expr(stride);
    }
  }
  out_ += ']';
}

void Printer::lambda(Span<const Var*> a, Span<const Var*> b, Span<const Expr*> results, bool always_tuple) {
  names_.push();
  out_ += "lambda";
  bool first = true;
  for (Span<const Var*> params : {a, b}) {
    for (const Var* v : params) {
      out_ += first ? " " : ", ";
      first = false;
      out_ += names_.define(v, v->name.empty() ? std::string_view("v") : v->name);
    }
  }
  out_ += ": ";
  if (results.size() == 1 && !always_tuple) {
    expr(results[0]);
  } else {
    out_ += '(';
    exprs(results);
    if (results.size() == 1) out_ += ',';
    out_ += ')';
  }
  names_.pop();
}

namespace {

// Intrinsics that carry their result dtype as the first argument of their text, and the one that has it last.
constexpr std::array kDTypeFirst = {std::string_view("call_extern"),
                                    std::string_view("call_pure_extern"),
                                    std::string_view("call_llvm_intrin"),
                                    std::string_view("call_llvm_pure_intrin"),
                                    std::string_view("call_spirv_pure_glsl450"),
                                    std::string_view("reinterpret"),
                                    std::string_view("type_annotation"),
                                    std::string_view("min_value"),
                                    std::string_view("max_value"),
                                    std::string_view("infinity"),
                                    std::string_view("large_uint_imm"),
                                    std::string_view("get_active_lane_mask"),
                                    std::string_view("vectorlow"),
                                    std::string_view("vectorhigh"),
                                    std::string_view("vectorcombine"),
                                    std::string_view("ptx_mma"),
                                    std::string_view("ptx_mma_sp"),
                                    std::string_view("ptx_ldmatrix"),
                                    std::string_view("ptx_cp_async"),
                                    std::string_view("ptx_cp_async_bulk"),
                                    std::string_view("ptx_ldg32"),
                                    std::string_view("mma_store"),
                                    std::string_view("mma_fill")};

bool dtype_first(std::string_view name) {
  for (std::string_view n : kDTypeFirst)
    if (n == name) return true;
  return false;
}

std::string_view printed_intrinsic(std::string_view name) {
  if (name == "tvm_call_packed") return "call_packed";
  if (name == "tvm_call_cpacked") return "call_cpacked";
  if (name == "tvm_call_packed_lowered") return "call_packed_lowered";
  if (name == "tvm_call_cpacked_lowered") return "call_cpacked_lowered";
  return name;
}

}  // namespace

void Printer::tir_call(const Call* c) {
  bool first = true;
  const auto* op = as<Op>(c->callee);
  std::string_view name;
  if (op != nullptr) {
    name = op->name;
    if (name.starts_with("tirx.")) name.remove_prefix(5);
    if (name.starts_with("tir.")) name.remove_prefix(4);
    name = printed_intrinsic(name);
    t(name);
  } else if (const auto* g = as<GlobalVar>(c->callee)) {
    out_ += module_ != nullptr ? module_->name : std::string_view("Module");
    out_ += '.';
    out_ += g->name;
  } else if (const auto* ext = as<ExternFunc>(c->callee)) {
    t("call_extern");
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
  if (op != nullptr && dtype_first(name)) {
    comma(first);
    if (as<PointerType>(c->type) != nullptr)
      parameter_type(c->type);
    else
      dtype_literal(c->dtype());
  }
  for (const Expr* e : c->args) {
    comma(first);
    expr(e);
  }
  if (name == "tvm_struct_get") {
    comma(first);
    if (as<PointerType>(c->type) != nullptr)
      out_ += "\"handle\"";
    else
      dtype_literal(c->dtype());
  }
  keyword_attrs(c->attrs, first);
  out_ += ')';
}

void Printer::expr(const Expr* e, int min_precedence) {
  if (e == nullptr) {
    out_ += "None";
    return;
  }
  if (too_deep()) return;
  if (precedence(e) < min_precedence) {
    out_ += '(';
    ++depth_;
    expr(e);
    --depth_;
    out_ += ')';
    return;
  }
  ++depth_;
  using enum NodeKind;
  switch (e->kind) {
    case Var:
    case DataflowVar:
      var_use(as<ir::Var>(e));
      break;
    case GlobalVar:
      require_alias();
      if (!rfc()) {
        out_ +=
            opt_.module_alias.empty() ? std::string(module_ != nullptr ? module_->name : "Module") : opt_.module_alias;
        out_ += '.';
      }
      out_ += as<ir::GlobalVar>(e)->name;
      break;
    case Constant:
      constant(as<ir::Constant>(e));
      break;
    case MetaConstant:
      metadata_reference(as<ir::MetaConstant>(e)->key, as<ir::MetaConstant>(e)->index);
      break;
    case ShapeExpr: {
      const auto& values = as<ir::ShapeExpr>(e)->values;
      if (rfc()) {
        out_ += '(';
        exprs(values);
        out_ += values.size() == 1 ? ",)" : ")";
      } else {
        r("shape([");
        exprs(values);
        out_ += "])";
      }
      break;
    }
    case ExternFunc:
      extern_func(as<ir::ExternFunc>(e));
      break;
    case Op: {
      i("Op(");
      string_literal(as<ir::Op>(e)->name);
      out_ += ')';
      break;
    }
    case Call:
      call(as<ir::Call>(e));
      break;
    case Tuple: {
      const auto& items = as<ir::Tuple>(e)->items;
      if (items.empty()) {
        r("tuple()");
        break;
      }
      out_ += '(';
      exprs(items);
      out_ += items.size() == 1 ? ",)" : ")";
      break;
    }
    case TupleGetItem: {
      const auto* g = as<ir::TupleGetItem>(e);
      if (isa<ir::Tuple>(g->tuple)) {  // written as an index, the parser would take the field itself
        r("TupleGetItem(");
        expr(g->tuple);
        out_ += ", " + std::to_string(g->index) + ')';
        break;
      }
      expr(g->tuple, kAtom);
      out_ += '[' + std::to_string(g->index) + ']';
      break;
    }
    // These are not values in text; only an ill-formed tree has them here.
    case If:
      out_ += "<if>";
      break;
    case SeqExpr:
      out_ += "<sequence>";
      break;
    case Function:
      out_ += "<function>";
      break;
    case PrimFunc:
      out_ += "<prim_func>";
      break;
    case OpaqueFunc:
      out_ += as<ir::OpaqueFunc>(e)->name;
      break;
    case StringImm:
      if (!in_tir_) {
        r("str(");
        string_literal(as<ir::StringImm>(e)->value);
        out_ += ')';
      } else {
        string_literal(as<ir::StringImm>(e)->value);
      }
      break;
    case DTypeImm:
      if (!in_tir_) {
        r("dtype(");
        dtype_literal(as<ir::DTypeImm>(e)->value);
        out_ += ')';
      } else {
        dtype_literal(as<ir::DTypeImm>(e)->value);
      }
      break;
    case IntImm: {
      const auto* n = as<ir::IntImm>(e);
      DType d = n->dtype();
      if (d.is_bool()) {
        if (in_tir_) t("bool(");
        out_ += n->value != 0 ? "True" : "False";
        if (in_tir_) out_ += ')';
      } else if (d == (in_tir_ ? DType::Int(32) : DType::Int(64))) {
        out_ += std::to_string(n->value);
      } else {
        t(runtime::to_string(d));
        out_ += '(';
        out_ += d.is_uint() ? std::to_string(static_cast<std::uint64_t>(n->value)) : std::to_string(n->value);
        out_ += ')';
      }
      break;
    }
    case FloatImm:
      scalar_literal(e->dtype(), as<ir::FloatImm>(e)->value);
      break;
    case Add:
    case Sub:
    case Mul:
    case Div:
    case Mod:
    case FloorDiv:
    case FloorMod:
    case Min:
    case Max:
    case EQ:
    case NE:
    case LT:
    case LE:
    case GT:
    case GE:
    case And:
    case Or:
      binary(as<BinaryExpr>(e));
      break;
    case Not: {
      const auto* n = as<NotExpr>(e);
      if (is_number(n->a)) {
        node_form("Not", n->a, nullptr);
      } else {
        out_ += "not ";
        expr(n->a, kNot);
      }
      break;
    }
    case Cast:
      t("Cast(");
      dtype_literal(e->dtype());
      out_ += ", ";
      expr(as<CastExpr>(e)->value);
      out_ += ')';
      break;
    case Select: {
      const auto* s = as<SelectExpr>(e);
      t("Select(");
      expr(s->cond);
      out_ += ", ";
      expr(s->true_value);
      out_ += ", ";
      expr(s->false_value);
      out_ += ')';
      break;
    }
    case BufferLoad: {
      const auto* l = as<ir::BufferLoad>(e);
      buffer_use(l->buffer);
      if (l->predicate == nullptr) {
        indices(l->indices);
        break;
      }
      out_ += ".vload([";
      exprs(l->indices);
      out_ += "], predicate=";
      expr(l->predicate);
      out_ += ')';
      break;
    }
    case ProducerLoad:
      out_ += "tensor";
      indices(as<ir::ProducerLoad>(e)->indices);
      break;
    case Ramp: {
      const auto* x = as<ir::Ramp>(e);
      t("Ramp(");
      expr(x->base);
      out_ += ", ";
      expr(x->stride);
      out_ += ", ";
      expr(x->lanes);
      out_ += ')';
      break;
    }
    case Broadcast:
      node_form("Broadcast", as<ir::Broadcast>(e)->value, as<ir::Broadcast>(e)->lanes);
      break;
    case Shuffle: {
      const auto* x = as<ir::Shuffle>(e);
      t("Shuffle([");
      exprs(x->vectors);
      out_ += "], [";
      exprs(x->indices);
      out_ += "])";
      break;
    }
    case Let: {
      const auto* x = as<LetExpr>(e);
      if (!names_.has(x->var)) define_undefined(x->var);
      t("Let(");
      expr(x->body);
      out_ += ", where={";
      var_use(x->var);
      out_ += ": ";
      expr(x->value);
      out_ += "})";
      break;
    }
    case CommReducer: {
      const auto* x = as<ir::CommReducer>(e);
      t("comm_reducer(");
      lambda(x->lhs, x->rhs, x->results, false);
      out_ += ", [";
      exprs(x->identities);
      out_ += "])";
      break;
    }
    case Lambda:
      lambda(as<ir::Lambda>(e)->params, {}, as<ir::Lambda>(e)->results, false);
      break;
    // Statements and parts are not expressions.
    case Bind:
    case Attr:
    case Assert:
    case BufferStore:
    case AllocBuffer:
    case DeclBuffer:
    case Allocate:
    case AllocateConst:
    case For:
    case While:
    case IfThenElse:
    case Seq:
    case Evaluate:
    case SBlock:
    case SBlockRealize:
    case Buffer:
    case VarBinding:
    case MatchCast:
    case BindingBlock:
    case DataflowBlock:
      break;
  }
  --depth_;
}

}  // namespace rldb::ir::print_detail
