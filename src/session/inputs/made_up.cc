// The Relax half of the analysis: follows values through bindings, tuples, branches, views and calls to the kernels
// that index with them.
#include "session/inputs/made_up.h"

#include "rldb/ir/intrinsic.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/walk.h"

namespace rldb::session {

using ir::as;

namespace {

constexpr int kMaxRounds = 200;
constexpr int kMaxDepth = 12;  // of calls; recursion is cut there

// Known facts about a Relax value: the range of its elements, or fields.
struct Known {
  Interval range;
  std::vector<Known> fields;
  bool is_tuple = false;
  const ir::Function* function = nullptr;  // a local function
};

Known join(const Known& a, const Known& b) {
  Known out;
  out.range = join(a.range, b.range);
  if (!a.is_tuple || !b.is_tuple || a.fields.size() != b.fields.size()) return out;
  out.is_tuple = true;
  for (std::size_t i = 0; i < a.fields.size(); ++i) out.fields.push_back(join(a.fields[i], b.fields[i]));
  return out;
}

void add_leaves(const Known& k, std::set<int>& leaves) {
  leaves.insert(k.range.leaves.begin(), k.range.leaves.end());
  for (const Known& f : k.fields) add_leaves(f, leaves);
}

// Computed from these by a function that is not looked into.
Known made_from(const std::vector<Known>& args) {
  Known out;
  for (const Known& a : args) add_leaves(a, out.range.leaves);
  return out;
}

using Scope = std::unordered_map<const ir::Var*, Known>;

class Follow {
 public:
  Follow(const ir::Module* module, Leaves& leaves) : module_(module), leaves_(leaves) {}

  VariableInterval symbols;  // symbolic variables, of every function visited

  Known call_function(const ir::Function* f, const std::vector<Known>& args, const Scope* outer) {
    if (depth_ >= kMaxDepth || leaves_.budget < 0) return {};
    ++depth_;
    Scope scope;
    if (outer) scope = *outer;
    for (std::size_t i = 0; i < f->params.size() && i < args.size(); ++i) define(f->params[i], args[i], scope);
    Known out = sequence(f->body, scope);
    --depth_;
    return out;
  }

  void call_kernel(const ir::PrimFunc* f, std::vector<KernelArgument>& args) { visit_kernel(f, args, leaves_); }

  std::vector<std::int64_t> shape_of(const ir::Type* type, bool& known) {
    std::vector<std::int64_t> out;
    const auto* t = as<ir::TensorType>(type);
    known = t && t->has_shape;
    for (std::size_t i = 0; known && i < t->shape.size(); ++i) {
      const Interval d = interval_of(t->shape[i], symbols, leaves_);
      known = d.known && d.low == d.high;
      out.push_back(d.low);
    }
    return out;
  }

 private:
  void define(const ir::Var* v, const Known& value, Scope& scope) {
    scope[v] = value;
    if (as<ir::PrimType>(v->type) && !symbols.contains(v)) symbols[v] = value.range;
  }

  Known sequence(const ir::SeqExpr* s, Scope& scope) {
    for (const ir::BindingBlock* block : s->blocks)
      for (const ir::Binding* b : block->bindings) {
        if (--leaves_.budget < 0) return {};
        define(b->var, value(b->value, scope), scope);
      }
    return value(s->body, scope);
  }

  Known value(const ir::Expr* e, Scope& scope) {
    if (const auto* v = as<ir::Var>(e)) {
      if (const auto it = scope.find(v); it != scope.end()) return it->second;
    }
    if (const auto* t = as<ir::Tuple>(e)) return tuple(t->items, scope);
    if (const auto* get = as<ir::TupleGetItem>(e)) {
      const Known whole = value(get->tuple, scope);
      const bool has = whole.is_tuple && get->index >= 0 && std::size_t(get->index) < whole.fields.size();
      return has ? whole.fields[std::size_t(get->index)] : made_from({whole});
    }
    if (const auto* branch = as<ir::If>(e)) {
      Scope inner = scope;
      const Known yes = sequence(branch->then_branch, inner);
      inner = scope;
      return join(yes, sequence(branch->else_branch, inner));
    }
    if (const auto* s = as<ir::SeqExpr>(e)) return sequence(s, scope);
    if (const auto* f = as<ir::Function>(e)) return {{}, {}, false, f};
    if (const auto* c = as<ir::Constant>(e)) return constant(c);
    if (as<ir::PrimType>(e->type) && !is_relax_call(e)) return {interval_of(e, symbols, leaves_), {}, false, nullptr};
    if (const auto* c = as<ir::Call>(e)) return call(c, scope);
    return {};
  }

  static bool is_relax_call(const ir::Expr* e) {
    const auto* c = as<ir::Call>(e);
    return c && !ir::is_tir_op(c->callee);
  }

  Known tuple(ir::Span<const ir::Expr*> items, Scope& scope) {
    Known out;
    out.is_tuple = true;
    for (const ir::Expr* item : items) out.fields.push_back(value(item, scope));
    return out;
  }

  static Known constant(const ir::Constant* c) {
    Known out;
    if (!c->value->is(runtime::ValueKind::Tensor)) return out;
    const runtime::Tensor& t = c->value->as_tensor();
    if (t.dtype().lanes != 1 || t.element_count() > 4096) return out;
    if (t.dtype().is_float()) {
      out.range.not_negative = true;
      for (std::int64_t i = 0; i < t.element_count(); ++i) out.range.not_negative &= t.at(i) >= 0;
      return out;
    }
    if (!t.dtype().is_integral()) return out;
    for (std::int64_t i = 0; i < t.element_count(); ++i) {
      const std::int64_t v = runtime::load_as_int(t.peek() + std::size_t(i) * t.dtype().bytes(), t.dtype());
      out.range = i == 0 ? Interval::of(v, v) : rldb::session::join(out.range, Interval::of(v, v));
    }
    return out;
  }

  Known call(const ir::Call* c, Scope& scope) {
    if (const auto* op = as<ir::Op>(c->callee)) return call_operator(c, op->name, scope);
    std::vector<Known> args;
    for (const ir::Expr* a : c->args) args.push_back(value(a, scope));
    if (const auto* g = as<ir::GlobalVar>(c->callee)) {
      const ir::Expr* f = module_->find(g->name);
      if (const auto* relax = as<ir::Function>(f)) return call_global(relax, c, args);
      if (const auto* kernel = as<ir::PrimFunc>(f)) call_destinations(kernel, c->args, args, scope);
      return {};
    }
    const Known callee = value(c->callee, scope);
    return callee.function ? call_function(callee.function, args, &scope) : call_unknown(c, args, scope);
  }

  // It may write to tensors of which nothing is known yet.
  static Known call_unknown(const ir::Call* c, const std::vector<Known>& args, Scope& scope) {
    Known made = made_from(args);
    for (const ir::Expr* a : c->args)
      if (const auto* v = as<ir::Var>(a); v && as<ir::TensorType>(v->type))
        if (Interval& held = scope[v].range; !held.known && held.leaves.empty()) held = made.range;
    return made;
  }

  Known call_global(const ir::Function* f, const ir::Call* c, const std::vector<Known>& args) {
    for (std::size_t i = 0; i < f->params.size() && i < c->args.size(); ++i)
      match(f->params[i]->type, c->args[i]->type);
    return call_function(f, args, nullptr);
  }

  // Learns the callee's symbolic variables from the types of its arguments.
  void match(const ir::Type* wanted, const ir::Type* given) {
    const auto dims = [this](ir::Span<const ir::Expr*> to, ir::Span<const ir::Expr*> from) {
      for (std::size_t i = 0; i < to.size() && i < from.size(); ++i)
        if (const auto* v = as<ir::Var>(to[i])) symbols[v] = interval_of(from[i], symbols, leaves_);
    };
    const auto* t = as<ir::TensorType>(wanted);
    const auto* g = as<ir::TensorType>(given);
    if (t && g && t->has_shape && g->has_shape) dims(t->shape, g->shape);
    const auto* s = as<ir::ShapeType>(wanted);
    const auto* r = as<ir::ShapeType>(given);
    if (s && r && s->has_values && r->has_values) dims(s->values, r->values);
  }

  KernelArgument argument(const Known& known, const ir::Type* type) {
    KernelArgument out{known.range, {}, false};
    out.shape = shape_of(type, out.has_shape);
    return out;
  }

  // A kernel that is called with its outputs among the arguments.
  void call_destinations(const ir::PrimFunc* f, ir::Span<const ir::Expr*> exprs, const std::vector<Known>& known,
                         Scope& scope) {
    std::vector<KernelArgument> args;
    for (std::size_t i = 0; i < exprs.size(); ++i) args.push_back(argument(known[i], exprs[i]->type));
    call_kernel(f, args);
    for (std::size_t i = 0; i < exprs.size(); ++i)
      if (const auto* v = as<ir::Var>(exprs[i]); v && as<ir::TensorType>(v->type)) scope[v].range = args[i].value;
  }

  Known call_operator(const ir::Call* c, std::string_view op, Scope& scope) {
    if (op::has(op, op::Trait::CallTir) && c->args.size() >= 2) return call_tir(c, scope);
    // Views and similar operators contain the elements of their first argument.
    if (op::has(op, op::Trait::View | op::Trait::Identity) && !c->args.empty()) return value(c->args[0], scope);
    if (!op::has(op, op::Trait::CallsClosure) || c->args.size() != 2) return made_from(tuple(c->args, scope).fields);
    const Known callee = value(c->args[0], scope);
    const Known args = value(c->args[1], scope);
    return callee.function ? call_function(callee.function, args.fields, &scope) : Known{};
  }

  Known call_tir(const ir::Call* c, Scope& scope) {
    const auto* g = as<ir::GlobalVar>(c->args[0]);
    const auto* f = g ? as<ir::PrimFunc>(module_->find(g->name)) : nullptr;
    if (!f) return made_from(tuple(c->args, scope).fields);
    std::vector<KernelArgument> args;
    const auto* inline_tuple = as<ir::Tuple>(c->args[1]);
    const Known inputs = inline_tuple ? tuple(inline_tuple->items, scope) : value(c->args[1], scope);
    const auto* tuple_type = as<ir::TupleType>(c->args[1]->type);
    for (std::size_t i = 0; tuple_type && i < tuple_type->fields.size(); ++i)
      args.push_back(argument(i < inputs.fields.size() ? inputs.fields[i] : Known{}, tuple_type->fields[i]));
    if (!tuple_type) args.push_back(argument(inputs, c->args[1]->type));
    const std::size_t first_output = args.size();
    const ir::Type* out = c->ty_args.empty() ? c->type : c->ty_args[0];
    const auto* outs = as<ir::TupleType>(out);
    if (outs)
      for (const ir::Type* t : outs->fields) args.push_back(argument({}, t));
    else
      args.push_back(argument({}, out));
    call_kernel(f, args);
    if (!outs) return {args[first_output].value, {}, false, nullptr};
    Known made;
    made.is_tuple = true;
    for (std::size_t i = 0; i < outs->fields.size(); ++i)
      made.fields.push_back({args[first_output + i].value, {}, false, nullptr});
    return made;
  }

  const ir::Module* module_;
  Leaves& leaves_;
  int depth_ = 0;
};

// One leaf for every tensor or scalar of a parameter.
struct Shape {
  int leaf = -1;
  bool is_float = false;
  std::vector<Shape> fields;
};

Shape shape_of_type(const ir::Type* type, Leaves& leaves) {
  Shape out;
  if (const auto* t = as<ir::TupleType>(type))
    for (const ir::Type* f : t->fields) out.fields.push_back(shape_of_type(f, leaves));
  const auto* tensor = as<ir::TensorType>(type);
  const auto* prim = as<ir::PrimType>(type);
  const ir::DType dtype = tensor ? tensor->dtype : prim ? prim->dtype : ir::DType::Void();
  out.is_float = tensor && dtype.is_float();
  if (dtype.is_int() || dtype.is_uint() || out.is_float) out.leaf = leaves.add();
  return out;
}

Known known_of(const Shape& s, const Leaves& leaves) {
  Known out;
  if (s.is_float)
    out.range.same = s.leaf;
  else if (s.leaf >= 0)
    out.range = leaves.interval(s.leaf);
  out.is_tuple = !s.fields.empty();
  for (const Shape& f : s.fields) out.fields.push_back(known_of(f, leaves));
  return out;
}

MadeUp result_of(const Shape& s, const Leaves& leaves) {
  MadeUp out;
  if (s.leaf >= 0) out.range = leaves.rows[std::size_t(s.leaf)];
  for (const Shape& f : s.fields) out.fields.push_back(result_of(f, leaves));
  return out;
}

void run_round(const ir::Module* module, const ir::Expr* entry, const std::vector<Shape>& params,
               const VariableInterval& symbols, Leaves& leaves) {
  Follow follow(module, leaves);
  follow.symbols = symbols;
  if (const auto* f = as<ir::Function>(entry)) {
    std::vector<Known> args;
    for (const Shape& p : params) args.push_back(known_of(p, leaves));
    follow.call_function(f, args, nullptr);
  } else if (const auto* f = as<ir::PrimFunc>(entry)) {
    std::vector<KernelArgument> args;
    const auto* type = as<ir::FuncType>(f->type);
    for (std::size_t i = 0; i < params.size(); ++i) {
      KernelArgument a{known_of(params[i], leaves).range, {}, false};
      if (type && i < type->params.size()) a.shape = follow.shape_of(type->params[i], a.has_shape);
      args.push_back(std::move(a));
    }
    follow.call_kernel(f, args);
  }
}

// Numbers that are used as indices without arithmetic cover the whole dimension. False: no dimension has more than the
// usual numbers.
bool widen(Leaves& leaves) {
  bool any = false;
  for (Leaf& row : leaves.rows) {
    if (row.vague || row.reach <= row.high + 1) continue;
    row.high = row.reach - 1;
    any = true;
  }
  return any;
}

}  // namespace

std::vector<MadeUp> made_up_ranges(const ir::Module* legal, std::string_view function,
                                   const std::unordered_map<const ir::Var*, std::int64_t>& dims) {
  const ir::Expr* entry = legal->find(function);
  Leaves leaves;
  std::vector<Shape> params;
  if (const auto* f = as<ir::Function>(entry)) {
    for (const ir::Var* p : f->params) params.push_back(shape_of_type(p->type, leaves));
  } else if (const auto* f = as<ir::PrimFunc>(entry)) {
    const auto* type = as<ir::FuncType>(f->type);
    for (std::size_t i = 0; type && i < type->params.size(); ++i)
      params.push_back(shape_of_type(type->params[i], leaves));
  }
  VariableInterval symbols;
  for (const auto& [v, n] : dims) symbols[v] = Interval::of(n, n);
  bool settled = leaves.rows.empty();
  for (int round = 0; !settled && round < kMaxRounds; ++round) {
    run_round(legal, entry, params, symbols, leaves);
    settled = !leaves.settle();
    if (leaves.budget < 0) break;
  }
  // Of a function that is too large the findings so far are what there is.
  Leaves wide = leaves;
  if (settled && leaves.budget >= 0 && widen(wide)) {
    run_round(legal, entry, params, symbols, wide);
    if (wide.budget >= 0 && !wide.settle()) leaves = std::move(wide);
  }
  std::vector<MadeUp> out;
  for (const Shape& p : params) out.push_back(result_of(p, leaves));
  return out;
}

const ir::Type* shape_it_is_cast_to(const ir::Function* f, const ir::Var* parameter) {
  const auto* open = as<ir::TensorType>(parameter->type);
  if (!open || open->has_shape) return nullptr;
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings) {
      const auto* cast = b->is_match_cast() && b->value == parameter ? as<ir::TensorType>(b->cast_type) : nullptr;
      const bool fits = cast && cast->has_shape && (open->ndim == ir::kUnknownNdim || open->ndim == cast->ndim) &&
                        (open->dtype.is_void() || open->dtype == cast->dtype);
      if (fits) return cast;
    }
  return nullptr;
}

}  // namespace rldb::session
