// @T.macro, @R.macro and @T.inline: their bodies are read at the place of the call, with the parameters bound; nothing
// else of them remains. The other names of a body are those of the place where the macro is defined, as in Python, or,
// with `hygienic=False`, of the place where it is called.
#include <algorithm>

#include "frontend/script/limits.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::script {

namespace {

// The arguments that `*args` takes, or `**kwargs`, which are not those of a parameter that has its value.
using Bound = std::vector<std::pair<Node, Val>>;
Val rest_of(Reader& r, Arguments& args, bool keywords, const Bound& bound) {
  std::vector<Val> rest;
  for (Argument& a : args.all()) {
    const auto is_bound = [&](const auto& row) { return row.first.text() == a.keyword; };
    if (a.used || a.keyword.empty() == keywords) continue;
    if (std::any_of(bound.begin(), bound.end(), is_bound)) r.error(a.node, diag::RepeatedArgument, a.keyword);
    a.used = true;
    if (keywords) rest.push_back(Val::of_str(a.keyword));
    rest.push_back(args.value(&a));
  }
  return Val::of_list(keywords ? ValKind::Dict : ValKind::Tuple, r.keep(rest));
}

// Parameter names to values; false after a report.
bool bind_parameters(Reader& r, Node macro, const CallNode& call, Scope& scope) {
  Arguments args(r, call);
  Bound bound;
  std::size_t position = 0;
  bool by_position = true;  // not those after `*` or `*args`
  for (Node p : macro.child(Field::Parameters).children()) {
    by_position = by_position && !p.is(Kind::VariadicParameter) && p.text() != "*";
    if (p.is(Kind::VariadicParameter)) {
      bound.emplace_back(p.child(Field::Name), rest_of(r, args, p.text().starts_with("**"), bound));
      continue;
    }
    if (!p.is(Kind::Parameter)) continue;
    const Node name = p.child(Field::Name);
    if (Argument* a = by_position ? args.find(position++, name.text()) : args.find(name.text())) {
      bound.emplace_back(name, args.value(a));
    } else if (const Node d = p.child(Field::Default)) {
      bound.emplace_back(name, eval(r, d));
    } else {
      r.error(call.node, diag::MissingArgument, name.text(), call.shown());
      return false;
    }
  }
  args.finish();
  for (const auto& [name, value] : bound)
    scope.define(name.text(), within_limits(r, value, name.text(), call.node) ? value : Val(), name.span());
  return true;
}

// ---- which names a body sees ----

constexpr std::int64_t kSeesCaller = -1;

std::size_t function_depth(const FunctionState* fn) {
  std::size_t depth = 0;
  for (; fn; fn = fn->outer) ++depth;
  return depth;
}

// The place of a definition: how many functions are around it, and how many scopes of the innermost one.
std::int64_t place_of(const Reader& r) {
  const auto functions = static_cast<std::int64_t>(function_depth(r.fn));
  return (functions << 32) | static_cast<std::int64_t>(r.fn ? r.fn->scope.depth() : 0);
}

// While it lives, what the functions around a call define, and the macro's definition does not see, is hidden. The
// innermost scope is the macro's own.
class DefinitionView {
 public:
  DefinitionView(Reader& r, std::int64_t place) {
    if (place == kSeesCaller) return;
    const auto functions = static_cast<std::size_t>(place >> 32);
    const auto scopes = static_cast<std::size_t>(place & 0xffffffff);
    std::size_t depth = function_depth(r.fn);
    for (FunctionState* f = r.fn; f && depth >= functions; f = f->outer, --depth) {
      const std::uint32_t begin = depth == functions ? f->scope.first_below(scopes) : 0;
      const std::uint32_t end = f == r.fn ? f->scope.first_innermost() : f->scope.size();
      before_.emplace_back(&f->scope, f->scope.hide({begin, end}));
    }
  }
  ~DefinitionView() {
    for (const auto& [scope, hidden] : before_) scope->hide(hidden);
  }
  DefinitionView(const DefinitionView&) = delete;
  DefinitionView& operator=(const DefinitionView&) = delete;

 private:
  std::vector<std::pair<Scope*, Scope::Hidden>> before_;
};

// Whether the decorator says `hygienic=False`.
bool sees_caller(Reader& r, Node macro) {
  for (Node d : macro.children()) {
    const Node value = d.field() == Field::Decorator ? d.child(Field::Value) : Node();
    if (!value.is(Kind::Call)) continue;
    for (Node a : value.child(Field::Arguments).children()) {
      if (!a.is(Kind::KeywordArgument) || a.child(Field::Name).text() != "hygienic") continue;
      const auto hygienic = to_bool(r, eval(r, a.child(Field::Value)), a.child(Field::Value));
      return hygienic && !*hygienic;
    }
  }
  return false;
}

}  // namespace

void define_macro(Reader& r, Node function) {
  refuse_unknown_options(r, function);
  Val v = Val::of(ValKind::Lambda);
  v.cst = function;
  v.integer = sees_caller(r, function) ? kSeesCaller : place_of(r);
  const Node name = function.child(Field::Name);
  r.scope().define(name.text(), v, name.span());
}

Val call_macro(Reader& r, const Val& called, const CallNode& call) {
  const Node macro = called.cst;
  if (!r.fn) return r.error(call.node, diag::NeedsPython, call.shown());
  if (r.nesting.is_full()) return r.error(call.node, diag::NestedTooDeep, kMaxInnerDepth);
  if (!may_expand(r, macro, call.shown(), call.node)) return {};
  Scope& scope = r.fn->scope;
  scope.enter(ScopeKind::Block);
  Val result = Val::nothing();
  const auto errors = r.errors();
  const Nesting::Level level(r.nesting);
  if (bind_parameters(r, macro, call, scope)) {
    const DefinitionView view(r, called.integer);
    if (r.in_tir()) {
      read_tir_statements(r, macro.child(Field::Body));
    } else if (r.fn->body) {
      const BlockResult b = read_relax_statements(r, macro.child(Field::Body));
      if (b.value || errors.any()) result = b.value ? Val::of(b.value) : Val();
    }
  }
  scope.leave();
  return result;
}

}  // namespace rldb::frontend::script
