// Statements of Relay functions: what is recorded, which are kept, values around other graph variables.
#include "frontend/relay/memo.h"

#include <algorithm>

namespace rldb::frontend::relay_text {

void RelayStatement::forget() {
  known = false;
  lookups.clear();
  inner.clear();
  globals.clear();
}

void RelayStatement::set_name(std::string_view n, std::uint32_t from, std::uint32_t to) {
  name = n;
  name_begin = from - begin;
  name_end = to - begin;
}

void RelayStatement::look_up(const RelayLookup& lookup) {
  const bool known_before = std::any_of(lookups.begin(), lookups.end(), [&](const RelayLookup& l) {
    return l.kind == lookup.kind && l.name == lookup.name;
  });
  if (!known_before) lookups.push_back(lookup);
}

bool RelayStatement::defines(std::string_view n) const {
  return std::any_of(inner.begin(), inner.end(), [&](const Definition& d) { return d.name == n; });
}

// ---- values around other graph variables ----

namespace {

class Rebuilder {
 public:
  Rebuilder(relay::Context& ctx, const Replacements& replaced, const std::vector<RelayLookup>& outside)
      : ctx_(ctx), replaced_(replaced), outside_(outside) {}

  const relay::Expr* of(const relay::Expr* e, int depth) {
    constexpr int kDeepest = 50;
    for (const auto& [old, fresh] : replaced_)
      if (old == e) return fresh;
    const bool is_outside =
        std::any_of(outside_.begin(), outside_.end(), [&](const RelayLookup& l) { return l.found == e; });
    if (is_outside || relay::is_leaf(e)) return e;
    if (depth > kDeepest) return nullptr;
    const relay::Expr* made = nullptr;
    if (const auto* call = relay::as<relay::Call>(e)) {
      made = call_of(*call, depth);
    } else if (const auto* tuple = relay::as<relay::Tuple>(e)) {
      std::vector<const relay::Expr*> fields;
      if (!all_of(tuple->fields, fields, depth)) return nullptr;
      made = ctx_.tuple(fields);
    } else if (const auto* projection = relay::as<relay::Projection>(e)) {
      const relay::Expr* of_tuple = of(projection->tuple, depth + 1);
      made = of_tuple ? ctx_.projection(of_tuple, projection->index) : nullptr;
    }
    if (!made || made->nesting > relay::kMaxNesting) return nullptr;
    ctx_.set_span(made, ctx_.span(e));
    return made;
  }

 private:
  bool all_of(relay::Span<const relay::Expr*> items, std::vector<const relay::Expr*>& made, int depth) {
    for (const relay::Expr* item : items) {
      made.push_back(of(item, depth + 1));
      if (!made.back()) return false;
    }
    return true;
  }
  const relay::Expr* call_of(const relay::Call& call, int depth) {
    for (const relay::NamedAttr& a : call.attrs)
      if (a.value->kind == relay::AttrKind::Expression) return nullptr;
    std::vector<const relay::Expr*> args;
    const relay::Expr* callee = of(call.callee, depth + 1);
    if (!callee || !all_of(call.args, args, depth)) return nullptr;
    return ctx_.call(callee, args, call.attrs, call.attrs_object);
  }

  relay::Context& ctx_;
  const Replacements& replaced_;
  const std::vector<RelayLookup>& outside_;
};

}  // namespace

const relay::Expr* rebuilt(relay::Context& ctx, const relay::Expr* e, const Replacements& replaced,
                           const std::vector<RelayLookup>& outside) {
  return Rebuilder(ctx, replaced, outside).of(e, 0);
}

// ---- around a reading ----

const RelayFunction* RelayMemo::function_at(const TextEdit& edit) const {
  for (const RelayFunction& f : functions_)
    if (f.begin < edit.begin && edit.old_end < f.end) return &f;
  return nullptr;
}

void RelayMemo::apply(const TextEdit& edit) {
  again_ = true;
  next_function_ = 0;
  kept_function_ = kept_statement_ = 0;
  read_count_ = 0;
  read_functions_.clear();
  spare_.clear();
  for (RelayFunction& f : functions_) {
    // An edit that touches a part, at its ends as well, changes it.
    const auto touches = [&](std::uint32_t begin, std::uint32_t end) {
      return edit.begin <= end && edit.old_end >= begin;
    };
    f.header_kept = !f.header_fresh && !touches(f.begin, f.body);
    for (RelayStatement& s : f.statements) {
      s.fresh = s.fresh || touches(s.begin, s.end);
      s.begin = edit.moved(s.begin);
      s.end = edit.moved(s.end);
    }
    f.begin = edit.moved(f.begin);
    f.body = edit.moved(f.body);
    f.end = edit.moved(f.end);
  }
}

bool RelayMemo::keeps(const Statement& statement) {
  for (; kept_function_ < functions_.size(); ++kept_function_, kept_statement_ = 0) {
    const RelayFunction& f = functions_[kept_function_];
    if (f.end <= statement.begin) continue;
    // Types may have other variables now.
    if (!f.header_kept && !f.generics.empty()) return false;
    while (kept_statement_ < f.statements.size() && f.statements[kept_statement_].begin < statement.begin)
      ++kept_statement_;
    if (kept_statement_ == f.statements.size()) return false;
    const RelayStatement& s = f.statements[kept_statement_];
    return !s.fresh && s.begin == statement.begin && s.end == statement.end && s.kind == statement.kind;
  }
  return false;
}

// ---- while a text is read ----

RelayFunction& RelayMemo::open_function(std::string_view name, std::uint32_t begin, std::uint32_t body,
                                        std::uint32_t end) {
  if (!again_) functions_.emplace_back();
  if (next_function_ >= functions_.size()) {  // the document saw to it that there are as many as before
    abandon();
    functions_.emplace_back();
  }
  RelayFunction& f = functions_[next_function_++];
  if (again_ && f.name != name) abandon();
  f.name = name;
  f.begin = begin;
  f.body = body;
  f.end = end;
  old_ = std::move(f.statements);
  f.statements.clear();
  next_old_ = 0;
  spare_.clear();
  if (!f.header_kept)
    for (const relay::Var* p : f.params)
      if (!p->virtual_device) spare_variable(p);
  for (const RelayStatement& s : old_)
    if (s.fresh && s.kind == cst::Kind::LetBinding) spare_variable(s.var);
  return f;
}

void RelayMemo::set_header(RelayFunction& f, std::vector<const relay::TypeVar*> generics,
                           std::vector<const relay::Var*> params, const relay::Type* result,
                           std::vector<relay::NamedAttr> attrs) {
  if (!f.header_kept) read_functions_.insert(next_function_);
  // A header that has type variables now makes other types of their names.
  if (!generics.empty() && f.generics.empty() && again_ && !old_.empty()) abandon();
  f.generics = std::move(generics);
  f.params = std::move(params);
  f.result = result;
  f.attrs = std::move(attrs);
}

void RelayMemo::close_function() { old_.clear(); }

RelayStatement& RelayMemo::open(cst::Node statement) {
  RelayFunction& f = functions_[next_function_ - 1];
  if (statement.is(cst::Kind::Kept)) {
    while (next_old_ < old_.size() && old_[next_old_].begin < statement.row().begin) ++next_old_;
    f.statements.push_back(std::move(old_[next_old_++]));
    f.statements.back().known = true;
    return f.statements.back();
  }
  RelayStatement& s = f.statements.emplace_back();
  s.begin = statement.row().begin;
  s.end = statement.row().end;
  s.kind = statement.kind();
  return s;
}

const relay::Var* RelayMemo::take_variable(std::string_view name, const relay::Type* annotation) {
  const auto [first, last] = spare_.equal_range(name);
  for (auto at = first; at != last; ++at)
    if (at->second->annotation == annotation) {
      const relay::Var* v = at->second;
      spare_.erase(at);
      return v;
    }
  return nullptr;
}

}  // namespace rldb::frontend::relay_text
