// `why` of expressions: of their operands. A subscript behind arithmetic by elements is one of each operand.
#include "debug/look/expression_story.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/look/element.h"
#include "rldb/debug/facts.h"
#include "rldb/expression/expression.h"
#include "rldb/expression/operator.h"
#include "rldb/runtime/device_error.h"
#include "rldb/runtime/value.h"
#include "rldb/source/diagnostic_run.h"

namespace rldb::debug {

using expression::Expression;
using expression::Term;
using expression::TermKind;
using runtime::Value;
using runtime::ValueKind;

namespace {

// `a`, `a[0]`, `t[1][0, 2]`: what `why` follows through the run.
bool is_place(const Expression& e, const Term& t) {
  return t.kind == TermKind::Name || (t.kind == TermKind::Subscript && is_place(e, e.child(t, 0)));
}

// Behind what is indexed, with the parentheses around it.
std::size_t subscript_of(const Expression& e, const Term& t) {
  const std::string_view text = e.text_of(t);
  return text.find('[', std::min(text.size(), std::size_t(e.child(t, 0).end - t.begin)));
}

// The text of a place without parentheses, its name as it is looked up.
std::string place_text(const Expression& e, const Term& t) {
  if (t.kind == TermKind::Name) return t.text;
  const std::string_view text = e.text_of(t);
  return place_text(e, e.child(t, 0)) + std::string(text.substr(std::min(text.size(), subscript_of(e, t))));
}

bool is_by_elements(const Term& t) {
  const bool product = !t.ops.empty() && t.ops[0] == expression::Operator::MatMul;
  return t.kind == TermKind::Unary || t.kind == TermKind::Compare || (t.kind == TermKind::Binary && !product);
}

class Operands {
 public:
  Operands(const Debugger& debugger, const Expression& e, int frame, int depth, std::vector<CauseStep>& steps)
      : debugger_(debugger), e_(e), frame_(frame), depth_(depth), steps_(steps) {}

  // `subscript`: of a value with the shape of `of`, of which this is an operand by elements.
  void tell(const Term& t, std::string_view subscript = {}, const Value& of = {}) {
    if (is_place(e_, t)) return tell_place(t, subscript, of);
    if (t.kind == TermKind::Subscript && is_by_elements(e_.child(t, 0))) {
      const Term& inner = e_.child(t, 0);
      const auto value = evaluate(e_.text_of(inner));
      if (value) return tell(inner, e_.text_of(t).substr(std::min(e_.text_of(t).size(), subscript_of(e_, t))), *value);
    }
    const bool first = t.kind == TermKind::Call && e_.child(t, 0).kind == TermKind::Name;  // the name of a function
    for (std::size_t i = first ? 1 : 0; i < t.children.size(); ++i)
      if (t.children[i] >= 0) is_by_elements(t) ? tell(e_.child(t, i), subscript, of) : tell(e_.child(t, i));
  }

 private:
  std::optional<Value> evaluate(std::string_view text) const {
    source::Diagnostics quiet;
    return debugger_.evaluate(text, frame_, quiet);
  }

  void tell_place(const Term& t, std::string_view subscript, const Value& of) {
    std::string text = place_text(e_, t);
    const auto own = subscript.empty() ? std::nullopt : evaluate(text);
    if (own && own->is(ValueKind::Tensor) && of.is(ValueKind::Tensor) &&
        own->as_tensor().shape() == of.as_tensor().shape())
      text += subscript;
    std::string reason;
    if (add(text, reason)) return;
    // Several elements: of the whole.
    const Term* name = &t;
    while (name->kind == TermKind::Subscript) name = &e_.child(*name, 0);
    std::string other;
    if (add(name->text, other)) return;
    CauseStep step;
    step.depth = 1;
    step.name = text;
    const auto value = evaluate(text);
    step.value = value ? runtime::format_brief(*value) : "?";
    step.problem = reason;
    steps_.push_back(std::move(step));
  }

  // False: `reason` says why nothing is known of it.
  bool add(const std::string& text, std::string& reason) {
    if (std::find(told_.begin(), told_.end(), text) != told_.end()) return true;
    source::Diagnostics problems;
    std::vector<CauseStep> told = debugger_.why(text, frame_, depth_, problems);
    for (CauseStep& s : told) {
      ++s.depth;
      steps_.push_back(std::move(s));
    }
    if (!told.empty()) told_.push_back(text);
    if (told.empty()) reason = problems.all().empty() ? "nothing is known of it" : problems.all()[0].message;
    return !told.empty();
  }

  const Debugger& debugger_;
  const Expression& e_;
  int frame_, depth_;
  std::vector<CauseStep>& steps_;
  std::vector<std::string> told_;
};

}  // namespace

std::optional<std::vector<CauseStep>> why_expression(const Debugger& debugger, std::string_view text, int frame,
                                                     int depth, source::Diagnostics& out) {
  const auto parsed = expression::parse(text);
  if (!parsed.ok()) return std::nullopt;
  if (is_place(*parsed, parsed->root())) {
    const std::string plain = place_text(*parsed, parsed->root());
    return plain == text ? std::nullopt : std::optional(debugger.why(plain, frame, depth, out));
  }
  for (const std::string& name : expression::names_of(*parsed))
    if (name.find('@') != std::string::npos) {
      out.add({}, source::message(diag::RunFailed,
                                  fmt::format("`{}` is a variable of another rank: ask for it alone", name))
                      .with_hint(fmt::format("`why {}`", name)));
      return std::vector<CauseStep>();
    }
  const auto value = debugger.evaluate(text, frame, out);
  if (!value) return std::vector<CauseStep>();
  if (const auto lost = runtime::take_device_error()) {
    out.add({}, source::message(diag::RunFailed, lost->message));
    return std::vector<CauseStep>();
  }
  std::vector<CauseStep> steps(1);
  steps[0].name = text;
  const bool number = value->is(ValueKind::Tensor) && value->as_tensor().ndim() == 0;
  steps[0].value = number ? element_text(value->as_tensor(), 0) : runtime::format_brief(*value);
  Operands(debugger, *parsed, frame, depth - 1, steps).tell(parsed->root());
  return steps;
}

}  // namespace rldb::debug
