// `match`: arms are tried in order, each by one condition on the value. The tests of a nested pattern are emitted in
// sequence, so that no value is accessed before its constructor is known, and no arm is emitted twice.
#include "relay/to_relax/branches.h"
#include "rldb/bytecode/builtin/relay.h"
#include "rldb/source/diagnostic_translate.h"

namespace rldb::to_relax {

const Expr* FunctionTranslator::match(const relay::Match& m) {
  const Expr* v = operand(m.value, &m);
  if (!v) return nullptr;
  if (m.arms.size() > kMaxArms)
    return fail(&m, source::message(diag::RelayNotTranslated, "a `match` of more than 200 arms"));
  const Expr* result = arm(m, 0, bound(v));
  return result ? refined(result, shared_.typing.of(&m)) : nullptr;
}

// The last arm of a `match` that covers every value needs no test.
const Expr* FunctionTranslator::arm(const relay::Match& m, std::size_t i, const Expr* v) {
  const relay::Type* type = shared_.typing.of(&m);
  if (i == m.arms.size()) return refined(packed(builtin::NoMatch, {v}, ctx_.any()), type);
  const relay::Arm& a = m.arms[i];
  const auto take = [&] {
    bind_pattern(a.pattern, v);
    place(&m);
    return value(a.body);
  };
  const bool last = m.complete && i + 1 == m.arms.size();
  if (last || !needs_test(a.pattern)) return take();
  return branches(test(a.pattern, v), take, [&] { return arm(m, i + 1, v); });
}

bool FunctionTranslator::needs_test(const relay::Pattern* p) const {
  if (p->kind == relay::PatternKind::Constructor && !shared_.is_only_constructor(*p->constructor)) return true;
  for (const relay::Pattern* x : p->parts)
    if (needs_test(x)) return true;
  return false;
}

const Expr* FunctionTranslator::part(const relay::Pattern* p, std::size_t i, const Expr* v) {
  if (p->kind == relay::PatternKind::Constructor)
    return packed(builtin::AdtField, {v, ctx_.i64(std::int64_t(i))}, ctx_.any());
  const auto item = ctx_.tuple_get(v, std::int64_t(i));
  RLDB_CHECK(item.ok(), "inference knows the fields of a tuple");
  return blocks_.emit(*item, "gv");
}

// True when the pattern matches the value, as a scalar.
const Expr* FunctionTranslator::test(const relay::Pattern* p, const Expr* v) {
  const bool by_name = p->kind == relay::PatternKind::Constructor && !shared_.is_only_constructor(*p->constructor);
  if (!by_name) return test_parts(p, 0, v);
  const Expr* is = packed(builtin::AdtIs, {v, ctx_.string(p->constructor->name)}, ctx_.boolean());
  bool more = false;
  for (const relay::Pattern* x : p->parts) more = more || needs_test(x);
  if (!more) return is;
  return branches(
      is, [&] { return test_parts(p, 0, v); }, [&] { return static_cast<const Expr*>(ctx_.bool_imm(false)); });
}

const Expr* FunctionTranslator::test_parts(const relay::Pattern* p, std::size_t from, const Expr* v) {
  while (from < p->parts.size() && !needs_test(p->parts[from])) ++from;
  if (from == p->parts.size()) return ctx_.bool_imm(true);
  const Expr* first = test(p->parts[from], part(p, from, v));
  std::size_t next = from + 1;
  while (next < p->parts.size() && !needs_test(p->parts[next])) ++next;
  if (next == p->parts.size()) return first;
  return branches(
      first, [&] { return test_parts(p, next, v); }, [&] { return static_cast<const Expr*>(ctx_.bool_imm(false)); });
}

void FunctionTranslator::bind_pattern(const relay::Pattern* p, const Expr* v) {
  switch (p->kind) {
    case relay::PatternKind::Wildcard:
      return;
    case relay::PatternKind::Variable:
      values_[p->var] = refined(v, shared_.typing.of(p->var));
      return;
    case relay::PatternKind::Constructor:
    case relay::PatternKind::Tuple:
      for (std::size_t i = 0; i < p->parts.size(); ++i)
        if (p->parts[i]->kind != relay::PatternKind::Wildcard) bind_pattern(p->parts[i], part(p, i, v));
  }
}

}  // namespace rldb::to_relax
