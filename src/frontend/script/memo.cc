// BodyMemo: finds the statements of a function that need not be read again after an edit.
#include "frontend/script/memo.h"

#include <algorithm>
#include <utility>

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// ---- around a reading ----

void BodyMemo::start() {
  start_ = function_->scope.entries();
  start_symbols_ = function_->symbols.size();
}

void BodyMemo::apply(const TextEdit& edit, bool signature_too) {
  edit_ = edit;
  signature_too_ = signature_too;
  const auto delta = static_cast<std::uint32_t>(edit.delta());
  bool behind = false;
  for (Statement& s : statements_) {
    if (s.end <= edit.begin) continue;
    // One that text is put in front of, without a break, has moved, but the places in it have not (TextEdit::moved).
    if (s.begin >= edit.old_end && s.begin != edit.begin) {
      // Unless the body is read now, a later edit does not know what this one put between the two.
      if (!behind) s.adjacent = false;
      behind = true;
      s.begin += delta;
      s.end += delta;
      continue;
    }
    s.touched = true;
    if (s.declares && !signature_too) abandoned_ = true;
  }
  next_match_ = 0;
  kept_.clear();
}

std::pair<std::uint32_t, std::uint32_t> BodyMemo::around(const TextEdit& edit) const {
  const auto behind = std::lower_bound(statements_.begin(), statements_.end(), edit.old_end,
                                       [](const Statement& s, std::uint32_t at) { return s.begin <= at; });
  auto before = std::upper_bound(statements_.begin(), behind, edit.begin,
                                 [](std::uint32_t at, const Statement& s) { return at < s.begin; });
  if (behind == statements_.end() || before == statements_.begin()) return {0, 0};
  return {std::prev(before)->begin, behind->begin};
}

bool BodyMemo::keeps(const cst::KnownStatements::Statement& statement) {
  while (next_match_ < statements_.size() &&
         (statements_[next_match_].touched || statements_[next_match_].begin < statement.begin))
    ++next_match_;
  if (next_match_ == statements_.size()) return false;
  const Statement& s = statements_[next_match_];
  if (s.fresh || (s.declares && signature_too_) || s.begin != statement.begin || s.end != statement.end ||
      s.kind != statement.kind)
    return false;
  kept_.push_back(static_cast<std::uint32_t>(next_match_++));
  return true;
}

bool BodyMemo::next(cst::KnownStatements::Statement& statement) {
  if (next_match_ == statements_.size()) return false;
  const Statement& before = statements_[next_match_ - 1];
  const Statement& s = statements_[next_match_];
  if (!s.adjacent || s.touched || s.fresh || (s.declares && signature_too_)) return false;
  // The edit is not between the two, nor directly after them.
  if (before.begin <= edit_.new_end && s.end + 1 >= edit_.begin) return false;
  statement = {s.kind, s.begin, s.end};
  kept_.push_back(static_cast<std::uint32_t>(next_match_++));
  return true;
}

void BodyMemo::reach(std::uint32_t end) {
  const auto behind = std::lower_bound(statements_.begin(), statements_.end(), end,
                                       [](const Statement& s, std::uint32_t at) { return s.begin < at; });
  if (behind != statements_.end()) {
    cut_off_.assign(behind, statements_.end());
    statements_.erase(behind, statements_.end());
    // Which names its values in between get depends on the function's text, which is another one when it comes back.
    for (Statement& s : cut_off_)
      if (s.temporaries_before != s.temporaries_after || s.inner_temporaries > 0 || s.declares) s.fresh = true;
    std::erase_if(cut_off_, [](const Statement& s) { return s.touched; });
    return;
  }
  if (cut_off_.empty() || cut_off_.front().begin >= end) return;
  if (statements_.empty() || statements_.back().end <= cut_off_.front().begin) {
    cut_off_.front().adjacent = false;
    statements_.insert(statements_.end(), cut_off_.begin(), cut_off_.end());
  }
  cut_off_.clear();
}

void BodyMemo::move_cut_off(const TextEdit& edit) {
  bool behind = false;
  for (Statement& s : cut_off_) {
    if (s.end <= edit.begin) continue;
    s.touched = s.begin < edit.old_end || s.begin == edit.begin;
    if (!std::exchange(behind, true)) s.adjacent = false;
    s.begin = edit.moved(s.begin);
    s.end = edit.moved(s.end);
  }
  std::erase_if(cut_off_, [](const Statement& s) { return s.touched; });
}

void BodyMemo::begin(bool whole) {
  whole_ = whole;
  if (whole) {
    cut_off_.clear();
    kept_.clear();
    abandoned_ = false;
    uses_.clear();
    definitions_.clear();
    left_.clear();
    bindings_.clear();
    statements_.clear();
  }
  has_written_names_ = false;
  made_.clear();
  made_.reserve(statements_.size());
  kept_bindings_.clear();
  // (Those of a statement that broke others wait for it to be mended.)
  if (!std::exchange(had_broken_, false) || whole) spare_.clear();
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < statements_.size(); ++i) {
    if (next < kept_.size() && kept_[next] == i) {
      ++next;
    } else {
      give_up_variables(statements_[i]);
      if (statements_[i].declares && !signature_too_) abandoned_ = true;
    }
  }
  if (whole) outputs_.clear();
  block_ = 0;
  other_outputs_ = false;
  read_count_ = 0;
  last_record_ = 0;
  function_->scope.rewind(start_);
  function_->attrs.clear();
  function_->saw_func_attr = false;
}

void BodyMemo::finish(const std::vector<source::Span>& places) {
  // A body that adds to the signature's variables depends on more than names.
  if (function_->symbols.size() != start_symbols_ || block_ != outputs_.size()) abandoned_ = true;
  statements_.swap(made_);
  made_.clear();
  if (has_written_names_) written_names_ = std::move(made_written_names_);
  auto place = places.begin();
  for (Statement& s : statements_) {
    while (place != places.end() && place->begin < s.begin) ++place;
    if (place != places.end() && place->begin <= s.end) s.fresh = true;
  }
  compact();
}

// Pools contain leftovers of statements of earlier readings.
void BodyMemo::compact() {
  std::size_t live = 0;
  for (const auto* all : {&statements_, &cut_off_})
    for (const Statement& s : *all) live += s.use_count + s.definition_count + s.left_count + s.binding_count;
  if (uses_.size() + definitions_.size() + left_.size() + bindings_.size() <= 2 * live + 4096) return;
  const auto move = [](auto& from, auto& to, std::uint32_t& at, std::uint32_t count) {
    const auto begin = from.begin() + at;
    at = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), begin, begin + count);
  };
  std::vector<Use> uses;
  std::vector<Definition> definitions;
  std::vector<LeftName> left;
  std::vector<const ir::Binding*> bindings;
  for (auto* all : {&statements_, &cut_off_})
    for (Statement& s : *all) {
      move(uses_, uses, s.uses, s.use_count);
      move(definitions_, definitions, s.definitions, s.definition_count);
      move(left_, left, s.left, s.left_count);
      move(bindings_, bindings, s.bindings, s.binding_count);
    }
  uses_.swap(uses);
  definitions_.swap(definitions);
  left_.swap(left);
  bindings_.swap(bindings);
}

// ---- while the body is read ----

bool BodyMemo::same(const Val* v, const Use& use) {
  if (!v) return use.kind == ValKind::Nothing;
  return v->kind == use.kind && v->pointer == use.pointer;
}

std::string_view BodyMemo::name_of(Scope::Slot slot) const { return function_->scope.name(slot); }

const BodyMemo::Statement& BodyMemo::record_of(cst::Node kept) const {
  const std::uint32_t begin = kept.row().begin;
  // Nearly always the one after the last.
  for (std::size_t i = last_record_; i < kept_.size() && i < last_record_ + 2; ++i)
    if (statements_[kept_[i]].begin == begin) {
      last_record_ = i;
      return statements_[kept_[i]];
    }
  const auto it = std::lower_bound(kept_.begin(), kept_.end(), begin,
                                   [&](std::uint32_t i, std::uint32_t at) { return statements_[i].begin < at; });
  last_record_ = static_cast<std::size_t>(it - kept_.begin());
  return statements_[*it];
}

bool BodyMemo::finds_the_same(const Statement& s) const {
  for (std::uint32_t i = 0; i < s.use_count; ++i) {
    const Use& use = uses_[s.uses + i];
    const Scope::Entry* e = function_->scope.find_entry(use.slot);
    if (!same(e ? &e->value : nullptr, use)) return false;
  }
  return true;
}

// Whether the names that have another value now are broken, and there are such.
bool BodyMemo::is_broken_call(const Statement& s) const {
  bool broken = false;
  for (std::uint32_t i = 0; i < s.use_count; ++i) {
    const Use& use = uses_[s.uses + i];
    const Scope::Entry* e = function_->scope.find_entry(use.slot);
    if (same(e ? &e->value : nullptr, use)) continue;
    if (!e || !e->value.poison() || use.kind != ValKind::Expr) return false;
    broken = true;
  }
  return broken;
}

namespace {

bool is_plain_operand(cst::Node n) {
  if (n.is(cst::Kind::Tuple) || n.is(cst::Kind::List)) {
    for (const cst::Node c : n.children())
      if (!is_plain_operand(c)) return false;
    return true;
  }
  return n.is(cst::Kind::Identifier) || n.is(cst::Kind::Integer) || n.is(cst::Kind::Float);
}

// `y = R.f(a, (b, c), k=...)`, without an annotation, which would give a broken name a type. Keyword arguments
// mean the same whatever the operands are.
bool is_plain_call(cst::Node s) {
  if (!s.is(cst::Kind::Binding) || s.child(cst::Field::Annotation)) return false;
  const cst::Node value = s.child(cst::Field::Value);
  if (!s.child(cst::Field::Target).is(cst::Kind::Identifier) || !value.is(cst::Kind::Call)) return false;
  for (const cst::Node a : value.child(cst::Field::Arguments).children()) {
    if (is_plain_operand(a)) continue;
    const cst::Node given = a.is(cst::Kind::KeywordArgument) ? a.child(cst::Field::Value) : cst::Node();
    if (!given || !(given.is(cst::Kind::String) || given.is(cst::Kind::Boolean) || given.is(cst::Kind::None) ||
                    (is_plain_operand(given) && !given.is(cst::Kind::Identifier))))
      return false;
  }
  return true;
}

bool calls_operator(const ir::Binding* b) {
  const auto* call = b->cast_type ? nullptr : ir::as<ir::Call>(b->value);
  return call && ir::isa<ir::Op>(call->callee);
}

}  // namespace

bool BodyMemo::is_output(Scope::Slot slot) const {
  if (block_ == 0) return false;
  const std::vector<std::string>& names = outputs_[block_ - 1];
  return std::binary_search(names.begin(), names.end(), name_of(slot));
}

// Temporaries are numbered; numbers whose names the text spells are left out.
bool BodyMemo::gets_the_same_names(const Statement& s, Body& body) const {
  if (s.inner_temporaries > 0 && !body.written_names().same(written_names_, 0, s.inner_temporaries)) return false;
  if (s.temporaries_before == s.temporaries_after) return true;
  return s.temporaries_before == body.temporaries() &&
         body.written_names().same(written_names_, s.temporaries_before, s.temporaries_after);
}

void BodyMemo::note_written_names(Body& body) {
  if (has_written_names_) return;
  has_written_names_ = true;
  made_written_names_ = body.written_names();
}

void BodyMemo::give_up_variables(const Statement& s) {
  for (std::uint32_t i = 0; i < s.definition_count; ++i) {
    const auto* v = ir::as<ir::Var>(definitions_[s.definitions + i].value);
    // A variable bound to a tuple is looked through (call_tir's arguments): its users must see a new one.
    if (v && !function_->tuples.count(v)) spare_.emplace(v->name, v);
  }
}

bool BodyMemo::replay(Reader& r, cst::Node& at, Body& body, bool adjacent,
                      const std::function<bool(std::string_view)>& makes_output) {
  const Statement& s = record_of(at);
  if (s.breaks && s.dataflow == body.in_dataflow() && is_broken_call(s)) {
    const Definition& d = definitions_[s.definitions];
    function_->scope.define(d.slot, Val(), r.ctx.spans().get(d.value->id));
    made_.push_back(s);
    made_.back().adjacent = adjacent;
    made_.back().output = s.dataflow && is_output(d.slot);
    had_broken_ = true;
    return true;
  }
  bool good = s.dataflow == body.in_dataflow() && finds_the_same(s) && gets_the_same_names(s, body);
  const bool may_be_output = s.output || (s.dataflow && other_outputs_);
  bool output = false;
  for (std::uint32_t i = 0; good && may_be_output && i < s.definition_count; ++i) {
    const Definition& d = definitions_[s.definitions + i];
    const auto* v = ir::as<ir::Var>(d.value);
    good = v && v->is_dataflow() != makes_output(name_of(d.slot));
    output = output || is_output(d.slot);
  }
  if (!good) {
    give_up_variables(s);
    at = reload(s.kind, s.begin, s.end);
    if (!at) abandoned_ = true;
    return false;
  }
  for (std::uint32_t i = 0; i < s.definition_count; ++i) {
    const Definition& d = definitions_[s.definitions + i];
    if (d.value) {
      function_->scope.define(d.slot, Val::of(d.value), r.ctx.spans().get(d.value->id));
    } else {
      function_->scope.define(d.slot, Val::of(ValKind::Module), {});
    }
  }
  for (std::uint32_t i = 0; i < s.left_count; ++i) {
    const LeftName& l = left_[s.left + i];
    function_->scope.add_left(l.slot, l.scope, Val::of(l.value), r.ctx.spans().get(l.value->id));
  }
  for (std::uint32_t i = 0; i < s.binding_count; ++i) {
    const ir::Binding* b = bindings_[s.bindings + i];
    body.append(b);
    kept_bindings_.push_back(b);
  }
  if (s.temporaries_after != s.temporaries_before) body.set_temporaries(s.temporaries_after);
  if (s.temporaries_after != s.temporaries_before || s.inner_temporaries > 0) note_written_names(body);
  made_.push_back(s);
  made_.back().adjacent = adjacent;
  if (may_be_output) made_.back().output = output;
  return true;
}

void BodyMemo::open(cst::Node at, Body& body, bool adjacent) {
  current_ = {};
  current_node_ = at;
  current_.adjacent = adjacent;
  current_.begin = at.row().begin;
  current_.end = at.row().end;
  current_.kind = at.kind();
  current_.dataflow = body.in_dataflow();
  current_.fresh = at.damaged();
  current_.temporaries_before = body.temporaries();
  (void)body.take_inner_temporaries();
  current_.uses = static_cast<std::uint32_t>(uses_.size());
  current_bindings_ = body.current().size();
  scope_size_ = function_->scope.size();
  declares_ = false;
  log_.clear();
  function_->scope.record(&log_);
  open_ = true;
}

void BodyMemo::looked_up(std::string_view name) {
  if (!open_) return;
  const Scope::Slot slot = function_->scope.slot(name);
  const Scope::Entry* e = function_->scope.find_entry(slot);
  if (e && function_->scope.is_younger(e, scope_size_)) return;  // made by this very statement
  for (std::size_t i = current_.uses; i < uses_.size(); ++i)
    if (uses_[i].slot == slot) return;
  if (e && !is_value(e->value)) current_.fresh = true;
  uses_.push_back({slot, e ? e->value.kind : ValKind::Nothing, e ? e->value.pointer : nullptr});
}

void BodyMemo::close(Body& body, bool beside_damage) {
  open_ = false;
  ++read_count_;
  Scope& scope = function_->scope;
  scope.record(nullptr);
  Statement& s = current_;
  s.use_count = static_cast<std::uint32_t>(uses_.size()) - s.uses;
  s.definitions = static_cast<std::uint32_t>(definitions_.size());
  std::sort(log_.begin(), log_.end());
  log_.erase(std::unique(log_.begin(), log_.end()), log_.end());
  for (const Scope::Slot slot : log_) {
    const Scope::Entry* e = scope.find_entry(slot);
    if (!e || !is_value(e->value)) {
      s.fresh = true;
      continue;
    }
    definitions_.push_back({slot, e->value.expr()});
    s.output = s.output || (s.dataflow && is_output(slot));
  }
  s.definition_count = static_cast<std::uint32_t>(definitions_.size()) - s.definitions;
  s.left = static_cast<std::uint32_t>(left_.size());
  scope.for_each_left(scope_size_, [&](const Scope::Entry& e) {
    if (e.value.expr() && is_value(e.value)) {
      left_.push_back({e.slot, e.left_as, e.value.expr()});
    } else {
      s.fresh = true;
    }
  });
  s.left_count = static_cast<std::uint32_t>(left_.size()) - s.left;
  s.bindings = static_cast<std::uint32_t>(bindings_.size());
  const std::vector<const ir::Binding*>& made = body.current();
  if (made.size() < current_bindings_) {
    s.fresh = true;
  } else {
    bindings_.insert(bindings_.end(), made.begin() + std::ptrdiff_t(current_bindings_), made.end());
  }
  s.binding_count = static_cast<std::uint32_t>(bindings_.size()) - s.bindings;
  s.temporaries_after = body.temporaries();
  s.inner_temporaries = body.take_inner_temporaries();
  if (s.temporaries_after != s.temporaries_before || s.inner_temporaries > 0) note_written_names(body);
  s.declares = declares_;
  s.fresh = s.fresh || beside_damage;
  s.breaks = !s.fresh && !s.declares && s.binding_count == 1 && s.definition_count == 1 && s.left_count == 0 &&
             s.temporaries_after == s.temporaries_before && s.inner_temporaries == 0 &&
             ir::as<ir::Var>(definitions_[s.definitions].value) && calls_operator(bindings_[s.bindings]) &&
             is_plain_call(current_node_);
  if (declares_ && !whole_ && !signature_too_) abandoned_ = true;
  made_.push_back(s);
}

void BodyMemo::outputs(std::vector<std::string> names) {
  ++block_;
  if (whole_) {
    outputs_.push_back(std::move(names));
  } else if (block_ > outputs_.size()) {
    abandoned_ = true;
    outputs_.resize(block_);
  } else if (other_outputs_ = outputs_[block_ - 1] != names; other_outputs_) {
    outputs_[block_ - 1] = std::move(names);
  }
}

const ir::Var* BodyMemo::take_variable(std::string_view name, const ir::Type* type, bool dataflow) {
  const auto [from, to] = spare_.equal_range(name);
  for (auto it = from; it != to; ++it) {
    const ir::Var* v = it->second;
    if (v->type != type || v->is_dataflow() != dataflow) continue;
    spare_.erase(it);
    return v;
  }
  return nullptr;
}

}  // namespace rldb::frontend::script
