// Expressions of the text: names, literals, operators, calls, subscripts, attributes.
#include "frontend/script/value/expr.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cst/literal.h"
#include "frontend/script/module.h"
#include "frontend/script/symbols.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/calls.h"
#include "frontend/script/value/convert.h"
#include "frontend/script/value/unsupported.h"
#include "rldb/ir/op_name.h"
#include "rldb/ir/scalar.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/support/number_literal.h"

namespace rldb::frontend::script {

bool Reader::rfc_spelling() {
  if (!rfc_) {
    const auto has = [&](std::string_view s) { return text.find(s) != std::string_view::npos; };
    rfc_ = has("R.Tensor[") || has("R.outputs(") || has("R.match_shape(");
  }
  return *rfc_;
}

static const Val* find_outer(Reader& r, std::string_view name) {
  if (const auto known = r.names.outer.find(std::string(name)); known != r.names.outer.end()) return &known->second;
  const ir::Expr* e = r.env->outer->find(name);
  if (!e) return nullptr;
  // Numbers are those of Python.
  Val v = Val::of(e);
  if (const auto* i = ir::as_int(e)) v = i->dtype().is_bool() ? Val::of_bool(i->value != 0) : Val::of_int(i->value);
  if (const auto* f = ir::as<ir::FloatImm>(e)) v = Val::of_float(f->value);
  return &r.names.outer.emplace(name, v).first->second;
}

const Val* find_name(Reader& r, std::string_view name) {
  for (FunctionState* f = r.fn; f; f = f->outer) {
    if (r.memo && r.memo->function() == f) r.memo->looked_up(name);
    if (const Val* v = f->scope.find(name)) return v;
  }
  if (const Val* v = r.names.scope.find(name)) return v;
  return r.env && r.env->outer ? find_outer(r, name) : nullptr;
}

namespace {

// Why a name that was defined elsewhere is not visible here.
bool explain_left_name(Reader& r, std::string_view name, Node at) {
  for (FunctionState* f = r.fn; f; f = f->outer) {
    const Scope::Entry* e = f->scope.find_left(name);
    if (!e) continue;
    source::Message m = source::message(diag::UnknownName, name);
    switch (e->left_as) {
      case ScopeKind::Dataflow:
        m = source::message(diag::DataflowVarOutside, name);
        break;
      case ScopeKind::Branch:
        m = source::message(diag::BranchVarOutside, name);
        break;
      case ScopeKind::Function:
      case ScopeKind::Block:
      case ScopeKind::Loop:
        break;
    }
    m.notes.push_back({e->span, fmt::format("`{}` was defined here, in a scope that has ended", name)});
    r.report(at.span(), std::move(m));
    return true;
  }
  return false;
}

std::string misspelling_hint(Reader& r, std::string_view name) {
  std::vector<std::string_view> names;
  for (FunctionState* f = r.fn; f; f = f->outer)
    for (std::string_view s : f->scope.names()) names.push_back(s);
  for (std::string_view s : r.names.scope.names()) names.push_back(s);
  if (r.env && r.env->outer)
    for (std::string_view s : r.env->outer->all()) names.push_back(s);
  if (r.module) {
    for (const Member& m : r.module->members)
      if (!m.gone) names.push_back(m.name);
    names.push_back(r.module->name);
  }
  std::sort(names.begin(), names.end());
  const std::string_view near = source::nearest(name, names);
  return near.empty() ? std::string() : fmt::format("did you mean `{}`?", near);
}

}  // namespace

namespace {

// Names with a meaning in Python or written without their prefix.
std::string foreign_name_hint(Reader& r, std::string_view name) {
  if (name == "print" && r.env)
    return "an expression alone shows its value; in a function with `pure=False` write `R.print(x, format=\"{}\")`";
  if ((name == "exit" || name == "quit") && r.env) return "`:quit` ends the session";
  if (name == "print") return "write `R.print(x, format=\"{}\")` in a function with `pure=False`";
  if (name == "inf" || name == "nan") return fmt::format("write `T.float32(\"{}\")`", name);
  if (name == "int" || name == "float" || name == "bool")
    return fmt::format("write `R.Prim(\"{}\")` for a scalar, `R.Tensor((), \"{}\")` for a tensor of one",
                       name == "int"     ? "int64"
                       : name == "float" ? "float32"
                                         : "bool",
                       name == "int"     ? "int64"
                       : name == "float" ? "float32"
                                         : "bool");
  if (name == "np" || name == "numpy" || name == "torch")
    return "Python is never run here: write the numbers with `R.const(...)`, or pass them as a parameter";
  for (const std::string_view type : {"Tensor", "Shape", "Tuple", "Callable", "Object", "Prim", "Any"})
    if (name == type) return fmt::format("write `R.{}`", name);
  if (name == "Buffer") return "write `T.Buffer`";
  if (runtime::parse_dtype(name)) return fmt::format("write \"{}\" in quotes", name);
  if (!r.in_tir() && ops::find(name)) return fmt::format("write `R.{}`", name);
  return {};
}

}  // namespace

// The caller of a hygienic macro has a value of that name.
static bool is_hidden_from_macro(Reader& r, std::string_view name) {
  for (FunctionState* f = r.fn; f; f = f->outer)
    if (f->scope.hides(name)) return true;
  return false;
}

Val unknown_name(Reader& r, std::string_view name, Node at) {
  if (is_hidden_from_macro(r, name))
    return r.error_hint(at,
                        fmt::format("a macro sees the names at its definition: pass `{}` to it, or decorate it with "
                                    "`hygienic=False`",
                                    name),
                        diag::UnknownName, name);
  if (explain_left_name(r, name, at)) return {};
  std::string hint = foreign_name_hint(r, name);
  // (A symbol that is missing is missing in thousands of types: the first report of a function is the one that is
  // shown.)
  constexpr std::size_t kMostHints = 20;
  if (hint.empty() && ++r.unknown_names[name] <= kMostHints) hint = misspelling_hint(r, name);
  return r.error_hint(at, std::move(hint), diag::UnknownName, name);
}

Val lookup(Reader& r, std::string_view name, Node at) {
  if (const Val* v = find_name(r, name)) return *v;
  if (Val v = module_name(r, name, at); !v.is(ValKind::Nothing)) return v;
  if (const Space* space = r.imports.find(name)) {
    Val v = Val::of(ValKind::Path);
    v.space = *space;
    v.cst = at;
    return v;
  }
  if (r.fn && r.fn->in_signature) {
    const bool declared = r.names.type_vars.count(name) || (r.in_tir() && r.fn->symbol_dtypes.count(name));
    if (declared || r.fn->declare_bare) return Val::of(declare_symbol(r, name, at));
  }
  return unknown_name(r, name, at);
}

// T.f32 is T.float32.
static std::string_view full_dtype_name(std::string_view name) {
  if (name.size() > 4 || name.size() < 2) return name;
  static const std::unordered_map<std::string_view, std::string_view> table = {
      {"bf16", "bfloat16"}, {"f16", "float16"}, {"f32", "float32"}, {"f64", "float64"},
      {"i8", "int8"},       {"i16", "int16"},   {"i32", "int32"},   {"i64", "int64"},
      {"u8", "uint8"},      {"u16", "uint16"},  {"u32", "uint32"},  {"u64", "uint64"}};
  const auto it = table.find(name);
  return it == table.end() ? name : it->second;
}

Path path_of(Reader& r, Node n) {
  Node root = n;
  while (root.is(Kind::Attribute)) root = root.child(Field::Object);
  if (!root.is(Kind::Identifier)) return {};
  const Space* root_space = r.imports.find(root.text());
  if (!root_space || find_name(r, root.text())) return {};
  std::string_view rest = n.text().substr(root.text().size());
  if (rest.empty()) return {*root_space, {}};
  if (rest[0] != '.') {  // blanks or a line break inside the dotted name
    std::string clean;
    for (const char c : rest)
      if (c != ' ' && c != '\n' && c != '\\' && c != '\t' && c != '\r') clean += c;
    rest = r.keep(std::move(clean));
  }
  rest.remove_prefix(1);
  Space space = *root_space;
  // tvm.script.ir_module, tvm.tir.x, tvm.relax.x
  if (space == Space::Tvm) {
    for (const auto& [prefix, to] : {std::pair<std::string_view, Space>{"script.tirx.", Space::Tir},
                                     {"script.tir.", Space::Tir},
                                     {"script.relax.", Space::Relax},
                                     {"script.ir.", Space::Ir},
                                     {"script.", Space::Ir},
                                     {op::kPrefix, Space::Relax},
                                     {"tirx.", Space::Tir},
                                     {"tir.", Space::Tir},
                                     {"ir.", Space::Ir}})
      if (rest.starts_with(prefix)) {
        rest.remove_prefix(prefix.size());
        if (prefix == op::kPrefix && rest.starts_with("op.")) rest.remove_prefix(3);  // tvm.relax.op.x
        return {to, rest};
      }
  }
  if (space == Space::Relax && rest.starts_with("op.")) rest.remove_prefix(3);
  if (space == Space::Tir) rest = full_dtype_name(rest);
  return {space, rest};
}

Val eval_string(Reader& r, Node n) {
  const auto one = [&](Node s) -> std::optional<std::string_view> {
    const cst::StringLiteral lit = cst::split_string(s.text());
    if (lit.formatted && lit.body.find('{') != std::string_view::npos) {
      r.error(s, diag::FormattedString);
      return std::nullopt;
    }
    if (lit.plain) return lit.body;
    if (auto text = cst::unescape(lit)) return r.keep(std::move(*text));
    r.error(s, diag::BadEscape);
    return std::nullopt;
  };
  if (n.is(Kind::String)) {
    const auto text = one(n);
    if (!text) return {};
    Val v = Val::of_str(*text);
    v.cst = n;
    return v;
  }
  std::string whole;
  for (Node part : n.children()) {
    const auto text = one(part);
    if (!text) return {};
    whole += *text;
  }
  Val v = Val::of_str(r.keep(std::move(whole)));
  v.cst = n;
  return v;
}

std::vector<Val> eval_items(Reader& r, Node n) {
  std::vector<Val> items;
  for (Node c : n.children()) {
    if (!c.is(Kind::Splat)) {
      items.push_back(settled(r, eval(r, c), c));
      if (!items.back().is(ValKind::Lambda)) items.back().cst = c;
      continue;
    }
    const Val v = eval(r, c.child(Field::Value));
    if (v.is_sequence()) {
      items.insert(items.end(), v.items.begin(), v.items.end());
    } else if (v.buffer()) {
      items.push_back(r.error(c, diag::CannotSplat, describe(r, v)));
    } else {
      items.push_back(v.poison() ? v : r.error(c, diag::CannotSplat, describe(r, v)));
    }
  }
  return items;
}

namespace {

Val eval_number(Reader& r, Node n) {
  if (n.is(Kind::Float)) {
    if (const auto v = support::read_float(n.text())) return Val::of_float(*v);
    return r.error(n, diag::BadNumber, n.text());
  }
  bool too_big = false;
  if (const auto v = support::read_integer(n.text(), too_big)) return Val::of_int(*v);
  // uint64 literals keep their bits.
  const std::string_view digits = n.text();
  const bool decimal = digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (too_big && decimal && (digits.size() == 19 || (digits.size() == 20 && digits <= "18446744073709551615"))) {
    std::uint64_t bits = 0;
    for (const char c : digits) bits = bits * 10 + std::uint64_t(c - '0');
    Val v = Val::of_int(static_cast<std::int64_t>(bits));
    v.dtype = ir::DType::UInt(64);
    return v;
  }
  if (too_big) return r.error(n, diag::NumberTooBig, n.text());
  return r.error(n, diag::BadNumber, n.text());
}

Val eval_dictionary(Reader& r, Node n) {
  std::vector<Val> items;
  for (Node c : n.children()) {
    if (!c.is(Kind::Pair)) {
      if (!c.is(Kind::Error) && !c.is(Kind::Missing)) r.error(c, diag::UnsupportedHere, c.text(), "in a dictionary");
      continue;
    }
    items.push_back(eval(r, c.child(Field::Key)));
    items.push_back(eval(r, c.child(Field::Value)));
  }
  return Val::of_list(ValKind::Dict, r.keep(items));
}

Val eval_comparison(Reader& r, Node n) {
  // a < b <= c: pairs joined by `and`.
  std::vector<Node> operands, operators;
  for (Node c : n.children()) (c.field() == Field::Operator ? operators : operands).push_back(c);
  if (operands.size() != operators.size() + 1) return {};
  std::vector<Val> values;
  for (Node o : operands) values.push_back(settled(r, eval(r, o), o));
  Val result;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    std::string_view op = operators[i].text();
    if (operators[i].is(Kind::NotIn)) op = "not in";
    if (operators[i].is(Kind::IsNot)) op = "is not";
    Val pair = apply_binary(r, op, values[i], values[i + 1], n);
    result = i == 0 ? pair : apply_binary(r, "and", result, pair, n);
  }
  return result;
}

Val eval_conditional(Reader& r, Node n) {
  const Val cond = eval(r, n.child(Field::Condition));
  if (cond.is_number())
    return eval(r, n.child(cond.integer || cond.floating != 0 ? Field::Consequence : Field::Alternative));
  const Val yes = eval(r, n.child(Field::Consequence));
  const Val no = eval(r, n.child(Field::Alternative));
  if (cond.poison() || yes.poison() || no.poison()) return {};
  if (!r.in_tir() && (is_relax_value(cond) || is_relax_value(yes) || is_relax_value(no)))
    return r.error_hint(n, "use `R.where(condition, x, y)`, or an `if` statement", diag::PythonLogic, "x if c else y");
  return if_then_else(r, cond, yes, no, n);
}

Val eval_leaf(Reader& r, Node n) {
  Val v = eval_number(r, n);
  v.cst = n;
  return v;
}

Val eval_sequence(Reader& r, Node n) {
  const std::vector<Val> items = eval_items(r, n);
  Val v = Val::of_list(n.is(Kind::List) ? ValKind::List : ValKind::Tuple, r.keep(items));
  v.cst = n;
  return v;
}

// The name of a scalar of its own denotes its element.
Val value_of_scalar(Reader& r, const Val& v, Node n) {
  if (!v.is(ValKind::Buffer) || !r.in_tir() || !r.fn->tir->scalars.count(v.buffer())) return v;
  const ir::Expr* zero = r.ctx.i32(0);
  return Val::of(static_cast<const ir::Expr*>(r.at(r.ctx.load(v.buffer(), {&zero, 1}), n)));
}

Val eval_lambda(Node n) {
  Val v = Val::of(ValKind::Lambda);
  v.cst = n;
  return v;
}

}  // namespace

Val eval(Reader& r, Node n) {
  switch (cst::expression_kind(n.kind())) {
    case cst::ExpressionKind::Identifier:
      return value_of_scalar(r, lookup(r, n.text(), n), n);
    case cst::ExpressionKind::Integer:
    case cst::ExpressionKind::Float:
      return eval_leaf(r, n);
    case cst::ExpressionKind::String:
    case cst::ExpressionKind::ConcatenatedString:
      return eval_string(r, n);
    case cst::ExpressionKind::Boolean:
      return Val::of_bool(n.text() == "True");
    case cst::ExpressionKind::None:
      return Val::none();
    case cst::ExpressionKind::Ellipsis:
      return Val::of(ValKind::Ellipsis);
    case cst::ExpressionKind::Attribute:
      return eval_attribute(r, n);
    case cst::ExpressionKind::Call:
      return eval_call(r, n);
    case cst::ExpressionKind::Subscript:
      return eval_subscript(r, n);
    case cst::ExpressionKind::Tuple:
    case cst::ExpressionKind::List:
      return eval_sequence(r, n);
    case cst::ExpressionKind::Dictionary:
      return eval_dictionary(r, n);
    case cst::ExpressionKind::Parenthesized:
      return eval(r, n.child(Field::Value));
    case cst::ExpressionKind::Unary: {
      const std::string_view op = n.child(Field::Operator).text();
      const Val a = eval(r, n.child(Field::Operand));
      // The least integer: its digits alone are a uint64.
      if (op == "-" && a.is(ValKind::Int) && a.dtype == ir::DType::UInt(64) && a.integer == INT64_MIN)
        return Val::of_int(INT64_MIN);
      return apply_unary(r, op == "-" ? "neg" : op, a, n);
    }
    case cst::ExpressionKind::Binary: {
      const Val a = settled(r, eval(r, n.child(Field::Left)), n.child(Field::Left));
      const Val b = eval(r, n.child(Field::Right));
      return apply_binary(r, n.child(Field::Operator).text(), a, b, n);
    }
    case cst::ExpressionKind::Logical: {
      const Val a = settled(r, eval(r, n.child(Field::Left)), n.child(Field::Left));
      const Val b = eval(r, n.child(Field::Right));
      return apply_binary(r, n.child(Field::Operator).text(), a, b, n);
    }
    case cst::ExpressionKind::Comparison:
      return eval_comparison(r, n);
    case cst::ExpressionKind::Not:
      return apply_not(r, eval(r, n.child(Field::Operand)), n);
    case cst::ExpressionKind::Conditional:
      return eval_conditional(r, n);
    case cst::ExpressionKind::Lambda:
      return eval_lambda(n);
    case cst::ExpressionKind::ListComprehension:
    case cst::ExpressionKind::GeneratorExpression:
      return eval_comprehension(r, n);
    case cst::ExpressionKind::Damage:
    case cst::ExpressionKind::UnterminatedString:
      return {};  // reported by cst/damage.cc
    case cst::ExpressionKind::Set:
    case cst::ExpressionKind::NamedExpression:
    case cst::ExpressionKind::Yield:
    case cst::ExpressionKind::SetComprehension:
    case cst::ExpressionKind::DictionaryComprehension:
    case cst::ExpressionKind::Other:
      if (n) r.error(n, diag::UnsupportedSyntax, shown_kind(n.kind()));
      break;
  }
  return {};
}

Val eval_comprehension(Reader& r, Node n) {
  // [e for i in range(4)]: over parse-time values only.
  const Node body = n.child(Field::Body);
  Node clause;
  for (Node c : n.children()) {
    if (c.is(Kind::ForClause) && !clause) {
      clause = c;
    } else if (c.is(Kind::ForClause) || c.is(Kind::IfClause)) {
      return r.error(c, diag::UnsupportedSyntax, "a comprehension with several clauses");
    }
  }
  const Val over = eval(r, clause.child(Field::Iterator));
  if (over.poison()) return {};
  const Node target = clause.child(Field::Target);
  std::vector<Val> values;
  if (over.is_sequence()) {
    values.assign(over.items.begin(), over.items.end());
  } else if (over.is(ValKind::Loop) && over.text == "range" && over.items.size() == 2 &&
             over.items[0].is(ValKind::Int) && over.items[1].is(ValKind::Int) &&
             over.items[1].integer - over.items[0].integer <= 100000) {
    for (std::int64_t i = over.items[0].integer; i < over.items[1].integer; ++i) values.push_back(Val::of_int(i));
  } else {
    return r.error(clause.child(Field::Iterator), diag::NotParseTime, describe(r, over));
  }
  Scope& scope = r.scope();
  std::vector<Val> items;
  for (const Val& v : values) {
    scope.enter(ScopeKind::Loop);
    if (target.is(Kind::Identifier)) {
      scope.define(target.text(), v, target.span());
    } else if (v.is_sequence()) {
      std::size_t i = 0;
      for (Node t : target.children())
        if (i < v.items.size()) scope.define(t.text(), v.items[i++], t.span());
    }
    items.push_back(eval(r, body));
    scope.leave();
  }
  return Val::of_list(ValKind::List, r.keep(items));
}

}  // namespace rldb::frontend::script
