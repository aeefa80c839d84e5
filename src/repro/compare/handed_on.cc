// HandedOn: names, and where their values come from.
#include "repro/compare/handed_on.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/ir/op/closure.h"
#include "rldb/ir/op_attr/call_attr.h"
#include "rldb/ir/op_traits.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"
#include "rldb/support/text.h"

namespace rldb::repro {

namespace {

constexpr int kDeepest = 200;  // calls and names that are followed

std::string text_of(const ir::Expr* e) { return e ? support::one_line(ir::print_expr(e)) : std::string(); }

// The variables that a value reads, in order.
std::vector<const ir::Var*> variables_of(const ir::Expr* value) {
  std::vector<const ir::Var*> found;
  ir::walk(value, [&](const ir::Node* n) {
    if (const auto* v = ir::as<ir::Var>(n)) found.push_back(v);
    return true;
  });
  return found;
}

bool same_names(const ir::Expr* a, const ir::Expr* b) {
  const auto x = variables_of(a), y = variables_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const ir::Var* v, const ir::Var* w) { return v->name == w->name; });
}

// The line that gives a branch its value.
std::string end_of(const ir::SeqExpr& branch, const std::string& name) {
  const auto* last = branch.blocks.empty() ? nullptr : branch.blocks.back()->bindings.back();
  return last && last->var == branch.body && last->var->name == name
             ? ir::print_binding(last)
             : fmt::format("{} = {}", name, text_of(branch.body));
}

// The values of a call of a closure, and those that a closure captures; null: they are not written as a tuple.
const ir::Tuple* tuple_of(const ir::Call* call) {
  return call->args.size() > 1 ? ir::as<ir::Tuple>(call->args[1]) : nullptr;
}

}  // namespace

bool makes_closure(const ir::Call& call) {
  const auto* op = ir::as<ir::Op>(call.callee);
  return op && op->name == op::MakeClosure;
}

bool is_in_place(const ir::Call& call) { return ir::find_attr(call.attrs, op_attr::InplaceIndices) != nullptr; }

HandedOn::Argument HandedOn::argument_of(const Index& index, const Handed& h) {
  const auto* call = h.binding ? ir::as<ir::Call>(h.binding->value) : nullptr;
  if (!call) return {};
  if (!op::has(call->callee, op::Trait::CallsClosure))
    return {h.position < call->args.size() ? call->args[h.position] : nullptr, &h};
  const ir::Tuple* given = tuple_of(call);
  if (!given) return {};
  if (h.position < given->items.size()) return {given->items[h.position], &h};
  const auto* closure = ir::as<ir::Var>(call->args[0]);
  const auto made =
      closure ? index.find({h.other_function, h.other_activation, std::string(closure->name)}) : index.end();
  if (made == index.end() || !made->second->binding) return {};
  const auto* maker = ir::as<ir::Call>(made->second->binding->value);
  const ir::Tuple* captured = maker && makes_closure(*maker) ? tuple_of(maker) : nullptr;
  const std::size_t position = h.position - given->items.size();
  if (!captured || position >= captured->items.size()) return {};
  return {captured->items[position], made->second};
}

HandedOn::Index HandedOn::index_of(const Trace& t) {
  Index index;
  for (const Handed& h : t.handed) index.insert_or_assign({h.function, h.activation, h.name}, &h);
  return index;
}

HandedOn::HandedOn(const Trace& a, const Trace& b, const Matcher& matcher)
    : a_(a), b_(b), matcher_(matcher), of_a_(index_of(a)), of_b_(index_of(b)) {
  for (std::size_t i = 0; i < a.events.size(); ++i)
    if (const Event& e = a.events[i]; e.binding)
      events_of_a_.try_emplace({e.function, e.activation, std::string(e.binding->var->name)}, i);
}

std::optional<HandedOn::Pair> HandedOn::pair(const std::string& function, std::size_t activation,
                                             const std::string& name) const {
  const auto x = of_a_.find({function, activation, name}), y = of_b_.find({function, activation, name});
  if (x == of_a_.end() || y == of_b_.end()) return std::nullopt;
  const Pair p{x->second, y->second};
  return p.a->kind == p.b->kind && p.a->leaves.size() == p.b->leaves.size() ? std::optional(p) : std::nullopt;
}

// A value that the first side has too, but not there.
bool HandedOn::is_other(const Pair& p, std::size_t leaf) const {
  const Handed::Leaf &x = p.a->leaves[leaf], &y = p.b->leaves[leaf];
  if (x.event == kNoEvent || y.event == kNoEvent) return x.text != y.text;  // one may be no tensor
  return !matcher_.same_value(a_.events[x.event], b_.events[y.event]) && matcher_.equal()[y.event] != kNoEvent;
}

bool HandedOn::gives_others(const Pair& p) const {
  for (std::size_t i = 0; i < p.a->leaves.size(); ++i)
    if (is_other(p, i)) return true;
  return false;
}

// The second side has computed all that the first side hands on there: it is there to be taken.
bool HandedOn::has_right_one(const Pair& p) const {
  return std::all_of(p.a->leaves.begin(), p.a->leaves.end(), [&](const Handed::Leaf& x) {
    return x.event == kNoEvent || std::any_of(b_.events.begin(), b_.events.end(), [&](const Event& e) {
             return matcher_.same_value(a_.events[x.event], e);
           });
  });
}

FirstDifference HandedOn::found(const Pair& p, const std::string& function, std::string how) const {
  FirstDifference d;
  d.function = function;
  if (p.b->binding) {
    d.name = d.other_name = p.b->binding->var->name;
    d.binding = p.b->binding;
    d.text = ir::print_binding(p.b->binding);
    d.other_text = p.a->binding ? ir::print_binding(p.a->binding) : std::string();
  } else {
    d.text = "return " + text_of(p.b->returned);
    d.other_text = "return " + text_of(p.a->returned);
  }
  d.handed_on = std::move(how);
  return d;
}

std::optional<FirstDifference> HandedOn::follow(const Pair& p, int depth) const {
  if (depth > kDeepest || !gives_others(p) || !followed_.insert(p.b).second) return std::nullopt;
  switch (p.b->kind) {
    case Handed::Kind::Parameter:
      return to_call(p, depth);
    case Handed::Kind::Binding:
      return to_value(p, depth);
    case Handed::Kind::Result:
      return to_return(p, depth);
  }
  return std::nullopt;
}

std::optional<FirstDifference> HandedOn::follow_names(const ir::Expr* value, const std::string& function,
                                                      std::size_t activation, int depth) const {
  for (const ir::Var* v : variables_of(value))
    if (const auto p = pair(function, activation, std::string(v->name)))
      if (auto d = follow(*p, depth + 1)) return d;
  return std::nullopt;
}

std::optional<FirstDifference> HandedOn::to_call(const Pair& p, int depth) const {
  const Argument x = argument_of(of_a_, *p.a), y = argument_of(of_b_, *p.b);
  if (!x.value || !y.value || p.a->other_function != p.b->other_function) return std::nullopt;
  if (text_of(x.value) == text_of(y.value))
    return follow_names(y.value, p.b->other_function, p.b->other_activation, depth);
  if (!has_right_one(p)) return std::nullopt;
  return found({x.at, y.at}, p.b->other_function,
               fmt::format("parameter `{}` of `{}` was given `{}`, is now given `{}`", p.b->name, p.b->function,
                           text_of(x.value), text_of(y.value)));
}

std::optional<FirstDifference> HandedOn::to_value(const Pair& p, int depth) const {
  const ir::Expr *x = p.a->binding->value, *y = p.b->binding->value;
  const auto *call = ir::as<ir::Call>(x), *now = ir::as<ir::Call>(y);
  if (call && now && same_names(x, y)) {
    // The same arguments: they are other values, or the callee returns others, or it is another callee.
    if (auto d = follow_names(y, p.b->function, p.b->activation, depth)) return d;
    const auto *was = ir::as<ir::GlobalVar>(call->callee), *is = ir::as<ir::GlobalVar>(now->callee);
    if (was && is && stem(was->name) != stem(is->name))
      return found(p, p.b->function, fmt::format("`{}` was called, now `{}` is", was->name, is->name));
    if (is_in_place(*call) && is_in_place(*now) && text_of(x) != text_of(y))
      return found(p, p.b->function, fmt::format("other arguments of `{}` are its results", p.b->name));
    if (p.a->other_function != p.b->other_function) return std::nullopt;
    const auto result = pair(p.b->other_function, p.b->other_activation, "");
    return result ? follow(*result, depth + 1) : std::nullopt;
  }
  const auto *branch = ir::as<ir::If>(x), *now_branch = ir::as<ir::If>(y);
  if (branch && now_branch) return to_branch(p, *branch, *now_branch, depth);
  if (text_of(x) == text_of(y)) return follow_names(y, p.b->function, p.b->activation, depth);
  if (call || now || !has_right_one(p)) return std::nullopt;
  return found(p, p.b->function, fmt::format("`{}` was `{}`, is now `{}`", p.b->name, text_of(x), text_of(y)));
}

// The values in which the branches end.
std::optional<FirstDifference> HandedOn::to_branch(const Pair& p, const ir::If& was, const ir::If& is,
                                                   int depth) const {
  for (const auto& [x, y] : {std::pair(was.then_branch, is.then_branch), std::pair(was.else_branch, is.else_branch)}) {
    const std::string before = text_of(x->body), after = text_of(y->body);
    if (before != after) {
      FirstDifference d = found(p, p.b->function, fmt::format("a branch of `{}` ends in another value", p.b->name));
      d.text = end_of(*y, p.b->name);
      d.other_text = end_of(*x, p.a->name);
      return d;
    }
    if (auto d = follow_names(y->body, p.b->function, p.b->activation, depth)) return d;
  }
  return std::nullopt;
}

std::optional<FirstDifference> HandedOn::to_return(const Pair& p, int depth) const {
  const ir::Expr *x = p.a->returned, *y = p.b->returned;
  if (text_of(x) == text_of(y)) return follow_names(y, p.b->function, p.b->activation, depth);
  if (!has_right_one(p)) return std::nullopt;
  return found(p, p.b->function, fmt::format("`{}` returns other values", p.b->function));
}

std::size_t HandedOn::at_place_of(std::size_t of_b) const {
  const Event& y = b_.events[of_b];
  if (!y.binding) return kNoEvent;
  const auto it = events_of_a_.find({y.function, y.activation, std::string(y.binding->var->name)});
  return it == events_of_a_.end() ? kNoEvent : it->second;
}

bool HandedOn::is_same_computation(std::size_t of_b) const {
  const std::size_t i = at_place_of(of_b);
  if (i == kNoEvent) return false;
  const Event &x = a_.events[i], &y = b_.events[of_b];
  return stem(x.callee) == stem(y.callee) && same_names(x.binding->value, y.binding->value);
}

std::optional<FirstDifference> HandedOn::behind(const FirstDifference& d) const {
  if (d.event == kNoEvent) return std::nullopt;
  followed_.clear();
  const Event& y = b_.events[d.event];
  auto found = is_same_computation(d.event) ? follow_names(y.binding->value, y.function, y.activation, 0)
                                            : by_name_of_parameter(d, y);
  if (!found && y.binding) found = became_a_part(y);
  return found ? std::move(found) : given_to_program(d, y);
}

// A parameter of the program has the name of another tensor of the first side: what made it is not in either run.
std::optional<FirstDifference> HandedOn::given_to_program(const FirstDifference& d, const Event& y) const {
  for (const ComparedInput& in : d.inputs) {
    if (in.instead_of.empty() || in.instead_of != in.name || in.operand > y.inputs.size()) continue;
    const std::size_t given = y.inputs[in.operand - 1].event;
    if (given == kNoEvent || !b_.events[given].is_parameter()) continue;
    FirstDifference at;
    at.function = y.function;
    at.name = at.other_name = in.name;
    at.handed_on =
        fmt::format("`{}` is given another tensor as `{}` than the first side computes", y.function, in.name);
    return at;
  }
  return std::nullopt;
}

// A variable that the first side computes, and the second binds to another part of what it computes at once.
std::optional<FirstDifference> HandedOn::became_a_part(const Event& reader) const {
  for (const ir::Var* v : variables_of(reader.binding->value)) {
    const Key key{reader.function, reader.activation, std::string(v->name)};
    const auto was = events_of_a_.find(key);
    const auto now = of_b_.find(key);
    if (was == events_of_a_.end() || now == of_b_.end() || of_a_.contains(key)) continue;
    const Handed& h = *now->second;
    if (h.kind != Handed::Kind::Binding || h.leaves.size() != 1 || h.leaves[0].event == kNoEvent) continue;
    const Event& own = a_.events[was->second];
    const std::size_t other = matcher_.equal()[h.leaves[0].event];
    if (other == kNoEvent || matcher_.same_value(own, b_.events[h.leaves[0].event])) continue;
    const bool is_there =
        std::any_of(b_.events.begin(), b_.events.end(), [&](const Event& e) { return matcher_.same_value(own, e); });
    if (!is_there) continue;
    FirstDifference d;
    d.function = reader.function;
    d.name = d.other_name = v->name;
    d.binding = h.binding;
    d.text = ir::print_binding(h.binding);
    d.other_text = own.binding ? ir::print_binding(own.binding) : std::string();
    d.handed_on = fmt::format("`{}` is now `{}`, which is `{}` on the first side", v->name, text_of(h.binding->value),
                              a_.events[other].names.back());
    return d;
  }
  return std::nullopt;
}

// A function that the first side does not have, such as one made by fusion: its parameters have the names of what it
// read there.
std::optional<FirstDifference> HandedOn::by_name_of_parameter(const FirstDifference& d, const Event& y) const {
  for (const ComparedInput& in : d.inputs) {
    if (in.instead_of.empty()) continue;
    const Key key{y.function, y.activation, in.instead_of};
    const auto it = of_a_.contains(key) ? of_b_.end() : of_b_.find(key);
    if (it == of_b_.end() || it->second->kind != Handed::Kind::Parameter) continue;
    const std::string given = text_of(argument_of(of_b_, *it->second).value);
    // The line reads it by the name of the parameter.
    const bool by_parameter = in.name == in.instead_of && given != in.instead_of;
    if (given != in.name && !by_parameter) continue;
    return found({it->second, it->second}, it->second->other_function,
                 fmt::format("parameter `{}` of `{}` is given `{}`", in.instead_of, y.function, given));
  }
  return given_another(d, y);
}

// The same, where parameters have names of their own, and none of the function's parameters is what the first side
// reads.
std::optional<FirstDifference> HandedOn::given_another(const FirstDifference& d, const Event& y) const {
  for (const ComparedInput& in : d.inputs) {
    const Key key{y.function, y.activation, in.name};
    const auto it = in.instead_of.empty() || of_a_.contains(key) ? of_b_.end() : of_b_.find(key);
    if (it == of_b_.end() || it->second->kind != Handed::Kind::Parameter || d.other_event == kNoEvent) continue;
    const std::size_t expected = a_.events[d.other_event].inputs[in.operand - 1].event;
    const bool is_there = std::any_of(of_b_.begin(), of_b_.end(), [&](const auto& entry) {
      const auto& [name, h] = entry;
      return std::get<0>(name) == y.function && std::get<1>(name) == y.activation && h->leaves.size() == 1 &&
             h->leaves[0].event != kNoEvent && matcher_.same_value(a_.events[expected], b_.events[h->leaves[0].event]);
    });
    if (is_there) continue;  // the function reads the wrong one of them
    return found({it->second, it->second}, it->second->other_function,
                 fmt::format("parameter `{}` of `{}` is given `{}`, and the first side reads `{}` there", in.name,
                             y.function, text_of(argument_of(of_b_, *it->second).value), in.instead_of));
  }
  return std::nullopt;
}

std::optional<FirstDifference> HandedOn::in_result(std::size_t leaf) const {
  if (b_.handed.empty() || b_.handed.back().kind != Handed::Kind::Result) return std::nullopt;
  const Handed& last = b_.handed.back();
  const auto p = pair(last.function, last.activation, "");
  if (!p || leaf >= p->b->leaves.size() || !is_other(*p, leaf)) return std::nullopt;
  return follow(*p, 0);
}

}  // namespace rldb::repro
