// @T.macro, T.inline and plain helper functions: their bodies are read at the place of the call, with the parameters
// bound; nothing else of them remains.
#include "frontend/script/limits.h"
#include "frontend/script/relax/relax.h"
#include "frontend/script/tir/tir.h"
#include "frontend/script/value/convert.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend::script {

namespace {

// Parameter names to values; false after a report.
bool bind_parameters(Reader& r, Node macro, const CallNode& call, Scope& scope) {
  Arguments args(r, call);
  std::vector<std::pair<Node, Val>> bound;
  std::size_t position = 0;
  for (Node p : macro.child(Field::Parameters).children()) {
    if (p.is(Kind::VariadicParameter)) {
      std::vector<Val> rest;
      for (Argument& a : args.all())
        if (a.keyword.empty() && !a.used) {
          a.used = true;
          rest.push_back(args.value(&a));
        }
      bound.emplace_back(p.child(Field::Name), Val::of_list(ValKind::Tuple, r.keep(rest)));
      continue;
    }
    if (!p.is(Kind::Parameter)) continue;
    const Node name = p.child(Field::Name);
    if (Argument* a = args.find(position++, name.text())) {
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

}  // namespace

Val call_macro(Reader& r, Node macro, const CallNode& call) {
  if (!r.fn) return r.error(call.node, diag::NeedsPython, call.shown());
  if (r.nesting.is_full()) return r.error(call.node, diag::NestedTooDeep, kMaxInnerDepth);
  if (!may_expand(r, macro, call.shown(), call.node)) return {};
  Scope& scope = r.fn->scope;
  scope.enter(ScopeKind::Block);
  Val result = Val::nothing();
  const Nesting::Level level(r.nesting);
  if (bind_parameters(r, macro, call, scope)) {
    if (r.in_tir()) {
      read_tir_statements(r, macro.child(Field::Body));
    } else if (r.fn->body) {
      const BlockResult b = read_relax_statements(r, macro.child(Field::Body));
      if (b.value) result = Val::of(b.value);
    }
  }
  scope.leave();
  return result;
}

}  // namespace rldb::frontend::script
