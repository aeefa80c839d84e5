// Headers and bodies of @R.function, global and local.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "frontend/cst/header.h"
#include "frontend/cst/literal.h"
#include "frontend/script/module.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/symbols.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/types.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/size.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"

namespace rldb::frontend::script {

Node attribute_key(Node function, std::string_view key) {
  for (Node s : function.child(Field::Body).children()) {
    const Node call = s.child(Field::Value);
    if (!call.is(Kind::Call) || !call.child(Field::Function).text().ends_with(".func_attr")) continue;
    const Node dict = call.child(Field::Arguments).first();
    for (Node pair : dict.children())
      if (const Node k = pair.child(Field::Key);
          k.text().size() == key.size() + 2 && k.text().substr(1, key.size()) == key)
        return k;
  }
  return function.child(Field::Name);
}

namespace {

// The options that TVM's decorators take, by what they decorate, and by the decorator's last name if it matters.
struct KnownOptions {
  Kind kind;
  std::initializer_list<std::string_view> names;
  std::string_view decorator = {};
};
const KnownOptions kKnownOptions[] = {
    {Kind::RelaxFunction, {"pure", "private", "check_well_formed"}},
    {Kind::PrimFunc, {"private", "check_well_formed", "s_tir", "persistent"}},
    {Kind::Module, {"check_well_formed", "s_tir"}},
    {Kind::MacroDefinition, {"hygienic"}, "macro"},
    {Kind::MacroDefinition, {}, "inline"},
    {Kind::PythonFunction, {}},
};

}  // namespace

void refuse_unknown_options(Reader& r, Node decorated) {
  for (const auto& [kind, names, decorator] : kKnownOptions) {
    if (!decorated.is(kind)) continue;
    for (Node d : decorated.children()) {
      const Node value = d.field() == Field::Decorator ? d.child(Field::Value) : Node();
      if (!value.is(Kind::Call) || !value.child(Field::Function).text().ends_with(decorator)) continue;
      for (Node a : value.child(Field::Arguments).children()) {
        if (!a.is(Kind::KeywordArgument)) continue;
        const Node name = a.child(Field::Name);
        if (std::find(names.begin(), names.end(), name.text()) != names.end()) continue;
        const std::string_view near = source::nearest(name.text(), names);
        r.error_hint(name, near.empty() ? std::string() : fmt::format("did you mean `{}`?", near), diag::UnknownKeyword,
                     name.text(), value.child(Field::Function).text());
      }
    }
  }
}

FunctionOptions read_function_options(Reader& r, Node function) {
  FunctionOptions o;
  for (Node d : function.children()) {
    if (d.field() != Field::Decorator) continue;
    const Node value = d.child(Field::Value);
    if (!value.is(Kind::Call)) continue;
    for (Node a : value.child(Field::Arguments).children()) {
      if (!a.is(Kind::KeywordArgument)) continue;
      const Node name = a.child(Field::Name);
      const Val v = eval(r, a.child(Field::Value));
      if (!v.is(ValKind::Bool)) continue;  // tracing options of TVM: their values do not matter here
      if (name.text() == "private") o.is_private = v.integer != 0;
      if (name.text() == "pure") {
        o.pure = v.integer != 0;
        o.pure_given = true;
      }
      if (name.text() == "s_tir") o.s_tir = v.integer != 0;
      if (name.text() == "check_well_formed") o.check_well_formed = v.integer != 0;
    }
  }
  return o;
}

namespace {

// ---- purity of RFC 0089's functions, which have no flag for it ----

// Functions of the module whose purity is being determined: a cycle adds nothing.
using Visited = std::unordered_set<std::string_view>;

bool calls_impure(Reader& r, Node n, Visited& visited);

bool is_impure_member(Reader& r, std::string_view name, Visited& visited) {
  if (!r.module) return false;
  const auto it = r.module->by_name.find(name);
  if (it == r.module->by_name.end() || !visited.insert(it->first).second) return false;
  const Node node = it->second->node;
  if (!node.is(Kind::RelaxFunction)) return true;  // a kernel writes to its arguments
  const FunctionOptions options = read_function_options(r, node);
  return options.pure_given ? !options.pure : calls_impure(r, node.child(Field::Body), visited);
}

bool is_impure_callee(Reader& r, Node callee, Visited& visited) {
  const Path p = path_of(r, callee);
  if (p.space == Space::Relax) {
    if (p.rest == "call_packed") return true;
    const ops::OpInfo* info = ops::find(p.rest);
    return info && info->purity == ops::Purity::Impure;
  }
  if (callee.is(Kind::Identifier)) return is_impure_member(r, callee.text(), visited);
  if (callee.is(Kind::Attribute)) return is_impure_member(r, callee.child(Field::Attribute).text(), visited);
  return false;
}

// Determined from the text: callers need the type before the body is read.
bool calls_impure(Reader& r, Node n, Visited& visited) {
  std::vector<Node> pending{n};
  while (!pending.empty()) {
    const Node top = pending.back();
    pending.pop_back();
    if (top.is(Kind::RelaxFunction)) continue;  // defining is not calling
    if (top.is(Kind::Call) && is_impure_callee(r, top.child(Field::Function), visited)) return true;
    for (Node c : top.children()) pending.push_back(c);
  }
  return false;
}

// R.Shape, R.Prim, T.int64: values that a type can depend on.
bool names_dims(Reader& r, Node annotation) {
  if (!annotation) return false;
  const Path p = path_of(r, annotation.is(Kind::Call) ? annotation.child(Field::Function) : annotation);
  return p.space == Space::Tir || (p.space == Space::Relax && (p.rest == "Shape" || p.rest == "Prim"));
}

// TVM 0.11 to 0.20: `p: R.Prim(value="n")` is a scalar that binds `n`. Here the parameter itself is `n`. Null when the
// parameter is something else.
const ir::Var* read_binding_scalar(Reader& r, Node p) {
  const Node annotation = p.child(Field::Annotation);
  if (!annotation.is(Kind::Call)) return nullptr;
  const Path path = path_of(r, annotation.child(Field::Function));
  if (path.space != Space::Relax || path.rest != "Prim") return nullptr;
  for (Node a : annotation.child(Field::Arguments).children()) {
    const Node value = a.child(Field::Value);
    if (!a.is(Kind::KeywordArgument) || a.child(Field::Name).text() != "value" || !value.is(Kind::String)) continue;
    const cst::StringLiteral literal = cst::split_string(value.text());
    const std::string_view name = r.ctx.str(literal.body);
    if (!literal.plain || !is_identifier(name) || r.fn->symbols.count(name)) return nullptr;
    const ir::Var* v = signature_variable(r, p.child(Field::Name).text(), r.ctx.int64(), p.child(Field::Name));
    r.fn->symbols.emplace(name, Symbol{v, value.span()});
    r.fn->scope.define(name, Val::of(v), value.span());
    return v;
  }
  return nullptr;
}

// `known` becomes false when nothing could be read: callers may pass anything, and the body is not checked against it.
const ir::Var* read_parameter(Reader& r, Node p, bool& known) {
  const Node name = p.child(Field::Name), annotation = p.child(Field::Annotation);
  const ir::Type* type = nullptr;
  if (annotation) {
    type = read_type(r, annotation);
  } else {
    r.error(name, diag::MissingAnnotation, name.text());
  }
  ir::TypeBudget budget;
  if (auto fault = budget.add(name.text(), type)) {
    r.report(name.span(), std::move(*fault));
    type = nullptr;
  }
  known = type != nullptr;
  return signature_variable(r, name.text(), type ? type : r.ctx.any(), name);
}

}  // namespace

void read_signature(Reader& r, Node function, FunctionState* outer, Signature& out) {
  FunctionState& fn = *out.state;
  fn.outer = outer;
  fn.dialect = Dialect::Relax;
  fn.name = r.ctx.str(function.child(Field::Name).text());
  out.options = read_function_options(r, function);
  refuse_unknown_options(r, function);
  if (!out.options.pure_given && r.rfc_spelling()) {
    Visited visited;
    out.options.pure = !calls_impure(r, function.child(Field::Body), visited);
  }
  FunctionState* const before = std::exchange(r.fn, &fn);
  fn.in_signature = true;
  collect_symbol_dtypes(r, function.child(Field::Body));
  std::vector<Node> params;
  for (Node p : function.child(Field::Parameters).children()) {
    if (p.is(Kind::VariadicParameter)) {
      r.error(p, diag::UnsupportedSyntax, "a variadic parameter");
      if (!outer) r.note_lost_parameter();
      if (const Node name = p.child(Field::Name)) fn.scope.define(name.text(), Val(), name.span());
    }
    if (p.is(Kind::Parameter)) params.push_back(p);
  }
  out.params.resize(params.size(), nullptr);
  for (std::size_t i = 0; i < params.size(); ++i) out.params[i] = read_binding_scalar(r, params[i]);
  collect_signature_symbols(r, function);
  std::vector<char> known(params.size(), 1);
  const auto read = [&](std::size_t i) {
    bool good = true;
    out.params[i] = read_parameter(r, params[i], good);
    known[i] = good ? 1 : 0;
  };
  // Shapes and scalars first: types of other parameters may name them.
  for (std::size_t i = 0; i < params.size(); ++i)
    if (!out.params[i] && names_dims(r, params[i].child(Field::Annotation))) {
      read(i);
      fn.scope.define(out.params[i]->name, Val::of(out.params[i]), params[i].span());
    }
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Node name = params[i].child(Field::Name);
    for (std::size_t k = 0; k < i; ++k)
      if (params[k].child(Field::Name).text() == name.text()) r.error(name, diag::RepeatedParameter, name.text());
    if (!out.params[i]) read(i);
  }
  if (const Node ret = function.child(Field::ReturnType)) {
    out.ret = read_type(r, ret);
    ir::TypeBudget budget;
    if (auto fault = budget.add(fn.name, out.ret)) {
      r.report(ret.span(), std::move(*fault));
      out.ret = nullptr;
    }
    if (!out.ret) out.ret = r.ctx.any();
  }
  fn.in_signature = false;
  // After the types: a parameter hides a symbolic variable of the same name.
  for (std::size_t i = 0; i < params.size(); ++i)
    fn.scope.define(out.params[i]->name, known[i] ? Val::of(out.params[i]) : Val(),
                    params[i].child(Field::Name).span());
  r.fn = before;
}

namespace {

// Inferred result type: parts that depend on variables of the body are erased.
const ir::Type* inferred_result(Reader& r, const Signature& s, const ir::Type* t) {
  std::unordered_set<const ir::Var*> visible;
  std::vector<const ir::Var*> vars;
  for (const ir::Var* p : s.params) {
    visible.insert(p);
    ir::collect_vars(p->type, vars);
  }
  visible.insert(vars.begin(), vars.end());
  for (FunctionState* f = s.state->outer; f; f = f->outer)
    for (const auto& [name, symbol] : f->symbols) visible.insert(symbol.var);
  return ir::erase(r.ctx, t, [&](const ir::Var* v) { return visible.count(v) > 0; });
}

void add_global_symbol(Reader& r, Node function, const Signature& s, bool is_global) {
  FunctionState& fn = *s.state;
  const bool given = ir::find_attr(fn.attrs, attr_name::GlobalSymbol) != nullptr;
  if (given && s.options.is_private)
    r.error(attribute_key(function, attr_name::GlobalSymbol), diag::PrivateGlobalSymbol, fn.name);
  if (is_global && !given && !s.options.is_private)
    fn.attrs.insert(fn.attrs.begin(), r.ctx.named(attr_name::GlobalSymbol, r.ctx.attr(r.ctx.str(fn.name))));
}

// Whether there is a `return` in a block of the body. It was reported there.
bool returns_inside(Node body) {
  std::vector<Node> pending{body};
  while (!pending.empty()) {
    const Node n = pending.back();
    pending.pop_back();
    if (n.is(Kind::ReturnStatement)) return true;
    if (!n.is(Kind::RelaxFunction) && !n.is(Kind::PrimFunc))
      for (Node c : n.children()) pending.push_back(c);
  }
  return false;
}

}  // namespace

// A variable without parts is written as its value: R.tuple(), TVM's normal form.
static const ir::Expr* normal_result(ir::Context& ctx, const ir::Expr* e) {
  const auto* t = ir::as<ir::TupleType>(e->type);
  return ir::isa<ir::Var>(e) && t && t->fields.empty() ? ctx.tuple({}) : e;
}

const ir::Function* read_body(Reader& r, Node function, Signature& s, bool is_global) {
  FunctionState& fn = *s.state;
  FunctionState* const before = std::exchange(r.fn, &fn);
  std::optional<Expected::Scope> none(std::in_place, r.expected);
  Body body(r.ctx, function.text());
  fn.body = &body;
  const BlockResult result = read_relax_statements(r, function.child(Field::Body));
  r.fn = before;
  none.reset();
  add_global_symbol(r, function, s, is_global);
  const ir::Function* made = nullptr;
  if (!result.returned && !function.child(Field::Body).damaged() && !returns_inside(function.child(Field::Body)))
    r.error(function.child(Field::Name), diag::NoReturn, fn.name);
  if (result.value) {
    const ir::Type* value_type = result.value->type;
    const ir::Type* ret = s.ret;
    if (ret && ir::base_check(r.ctx, ret, value_type) == ir::BaseCheck::FailL0) {
      source::Message m =
          source::message(diag::ReturnTypeMismatch, fn.name, ir::print_type(ret), ir::print_type(value_type));
      m.notes.push_back(
          {r.ctx.spans().get(result.value->id), fmt::format("this value has type `{}`", ir::print_type(value_type))});
      r.report(function.child(Field::ReturnType).span(), std::move(m));
    }
    const ir::Type* inferred = inferred_result(r, s, value_type);
    // As in TVM, a more precise type of the body becomes the function's return type.
    const bool finer = s.may_refine && inferred == value_type && ret != inferred;
    if (!ret || (finer && ir::is_base_of(r.ctx, ret, value_type))) ret = inferred;
    made = r.ctx.function(s.params, body.finish(normal_result(r.ctx, result.value)), ret, s.options.pure, fn.attrs);
    r.at(made, function);
  }
  fn.body = nullptr;
  return made;
}

Val read_local_function(Reader& r, Node function, bool dataflow) {
  const Node name = function.child(Field::Name);
  if (cst::has_damaged_header(function)) {
    if (name) r.fn->scope.define(name.text(), Val(), name.span());
    return {};
  }
  const auto variable = [&](const ir::Type* type) {
    return r.at(dataflow ? r.ctx.dataflow_var(name.text(), type) : r.ctx.var(name.text(), type), name);
  };
  // Each level that is read twice doubles the readings of the levels inside it.
  constexpr int kMaxSecondReadings = 4;
  FunctionState* const outer = r.fn;
  const ir::Type* assumed = nullptr;
  // Without a return annotation a recursive function is read twice: once to learn its result's type.
  for (int round = 0; round < 2; ++round) {
    Signature s;
    read_signature(r, function, outer, s);
    s.state->second_readings = outer->second_readings + round;
    std::vector<const ir::Type*> params;
    for (const ir::Var* p : s.params) params.push_back(p->type);
    const ir::Type* ret = s.ret ? s.ret : assumed ? assumed : r.ctx.void_type();
    const ir::Var* self = variable(r.ctx.func_type(params, ret, s.options.pure));
    const ErrorsSince errors = r.errors();
    s.state->scope.define(name.text(), Val::of(self), name.span());
    for (std::size_t i = 0; i < s.params.size(); ++i)
      if (s.params[i]->name == name.text()) s.state->scope.define(name.text(), Val::of(s.params[i]), name.span());
    const ir::Function* f = read_body(r, function, s, false);
    if (!f) {
      r.fn->scope.define(name.text(), Val(), name.span());  // uses of it are not reported as well
      return {};
    }
    bool recursive = false;
    ir::walk(f->body, [&](const ir::Node* n) {
      recursive = recursive || n == self;
      return !recursive;
    });
    const bool learnt = recursive && !s.ret && round == 0 && f->ret_type != ret && !errors.any();
    if (learnt && outer->second_readings >= kMaxSecondReadings) {
      r.error(name, diag::RecursionsNested, name.text(), kMaxSecondReadings);
      r.fn->scope.define(name.text(), Val(), name.span());
      return {};
    }
    if (learnt) {
      assumed = f->ret_type;
      continue;
    }
    const ir::Var* var = recursive ? self : variable(f->type);
    r.fn->body->append(r.at(r.ctx.binding(var, f), function));
    r.fn->scope.define(name.text(), Val::of(var), name.span());
    return Val::of(var);
  }
  return {};
}

}  // namespace rldb::frontend::script
