// `:expect`: checks on the last result. The forms are in command.def.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "rldb/ir/printer.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/ui/prompt/state.h"
#include "ui/prompt/commands/handlers.h"
#include "ui/prompt/view.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

namespace {

Status bad(Repl& repl, std::string_view why) {
  repl.last().unreadable = true;
  return repl.fail(source::message(diag::BadExpect, why));
}
Status differs(Repl& repl, std::string_view expected, std::string_view found) {
  return repl.fail(source::message(diag::ExpectFailed, expected, found));
}

Status value_differs(Repl& repl, std::string_view difference) {
  return repl.fail(source::message(diag::ValueNotAsExpected, difference));
}

std::string unquote(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

// A list of numbers (or one number) as a value like `like`: a tensor of its dtype, a shape, or a scalar.
std::optional<Value> value_like(std::string_view text, const Value& like, std::string& why) {
  const bool tensor = like.is(ValueKind::Tensor);
  const bool real = tensor ? like.as_tensor().dtype().is_float() : like.is(ValueKind::Float);
  const runtime::DType dtype = tensor ? like.as_tensor().dtype()
                               : real ? runtime::DType::Float(64)
                                      : runtime::DType::Int(64);
  const bool scalar = !text.starts_with('[') && !text.starts_with('(');
  auto list = runtime::parse_list(scalar ? fmt::format("[{}]", text) : std::string(text), dtype);
  if (!list.ok()) {
    why = list.error().message;
    return std::nullopt;
  }
  if (scalar) {  // one number: a tensor of rank 0
    const runtime::Tensor& one = list->as_tensor();
    auto view = runtime::Tensor::view(one.storage(), one.byte_offset(), {}, dtype);
    if (!view.ok() || one.element_count() != 1) {
      why = "not one number";
      return std::nullopt;
    }
    list = Value(std::move(view).value());
  }
  if (tensor) return std::move(list).value();
  const runtime::Tensor& numbers = list->as_tensor();
  if (like.is(ValueKind::Shape)) {
    std::vector<std::int64_t> dims;
    for (std::int64_t i = 0; i < numbers.element_count(); ++i) dims.push_back(std::int64_t(numbers.at(i)));
    return Value::of_shape(std::move(dims));
  }
  if (numbers.ndim() == 0 && like.is(ValueKind::Int)) return Value::of_int(std::int64_t(numbers.at(0)));
  if (numbers.ndim() == 0 && like.is(ValueKind::Bool)) return Value::of_bool(numbers.at(0) != 0);
  if (numbers.ndim() == 0 && like.is(ValueKind::Float)) return Value::of_float(numbers.at(0));
  why = "the last value is " + runtime::describe(like);
  return std::nullopt;
}

bool is_number(const Value& v) { return v.is(ValueKind::Int) || v.is(ValueKind::Bool) || v.is(ValueKind::Float); }

// The value of an expression, in the dtype or kind of the one with which it is compared.
std::optional<Value> value_of(Repl& repl, std::string_view text, const Value& like) {
  source::Diagnostics ignored;  // the reason why no list could be parsed is reported
  const bool tensor = like.is(ValueKind::Tensor);
  const std::string wanted =
      tensor ? fmt::format("array({}, '{}')", text, runtime::to_string(like.as_tensor().dtype())) : std::string(text);
  auto value = repl.debugger().evaluate(wanted, repl.frame(), ignored);
  if (!value && tensor) value = repl.debugger().evaluate(text, repl.frame(), ignored);
  if (value && is_number(*value) && like.is(ValueKind::Float))
    return Value::of_float(value->is(ValueKind::Float) ? value->as_float() : double(value->as_int()));
  return value;
}

// Takes ` rtol=...` and ` atol=...` off the end.
bool take_tolerances(std::string_view& text, runtime::Tolerance& tolerance) {
  while (true) {
    text = trim(text);
    const auto at = std::max(text.rfind(" rtol=") == std::string_view::npos ? 0 : text.rfind(" rtol="),
                             text.rfind(" atol=") == std::string_view::npos ? 0 : text.rfind(" atol="));
    if (at == 0) return true;
    const std::string_view number = text.substr(at + 6);
    double v = 0;
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), v);
    if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) return false;
    (text[at + 1] == 'r' ? tolerance.rtol : tolerance.atol) = v;
    text = text.substr(0, at);
  }
}

Status expect_value(Repl& repl, std::string_view rest) {
  const bool exact = rest.starts_with("==");
  if (!exact && !rest.starts_with("~="))
    return bad(repl, "`value`, that of the last entry, is followed by `==` or `~=`");
  std::string_view text = rest.substr(2);
  runtime::Tolerance tolerance = repl.session().options().tolerance;
  if (exact) tolerance.atol = tolerance.rtol = 0;
  if (!take_tolerances(text, tolerance)) return bad(repl, "a tolerance is not a number");
  if (!repl.last().value) return differs(repl, "a value", "the last entry gave none");
  const Value& got = *repl.last().value;
  text = trim(text);
  if (const Value* named = repl.session().find_value(text)) {
    const std::string difference = runtime::compare(got, *named, tolerance);
    return difference.empty() ? Status::Good : value_differs(repl, difference);
  }
  std::string why;
  auto want = value_like(trim(text), got, why);
  if (!want) want = value_of(repl, text, got);
  if (!want) return bad(repl, fmt::format("`{}`: {}", trim(text), why));
  const std::string difference = runtime::compare(got, *want, tolerance);
  return difference.empty() ? Status::Good : value_differs(repl, difference);
}

Status expect_error(Repl& repl, std::string_view rest) {
  const std::string wanted = unquote(rest);
  for (const std::string& error : repl.last().errors) {
    if (error.find(wanted) == std::string::npos) continue;
    repl.forgive();
    return Status::Good;
  }
  const std::string found =
      repl.last().errors.empty() ? "there was no error" : "the error was: " + repl.last().errors[0];
  return differs(repl, fmt::format("an error with `{}`", wanted), found);
}

Status expect_stop(Repl& repl, std::string_view rest) {
  const std::string wanted = unquote(rest);
  const debug::StopReport& stop = repl.debugger().last_stop();
  if (wanted == "finished")
    return stop.kind == debug::StopKind::Finished ? Status::Good
                                                  : differs(repl, "the end of the run", "it has not finished");
  if (stop.kind == debug::StopKind::Fault && wanted == "fault") return Status::Good;
  if (!repl.debugger().active()) return differs(repl, "a stop at `" + wanted + "`", "no program is stopped");
  const debug::Position& where = stop.where;
  const std::string here = where.binding.empty() ? where.function : where.function + ":" + where.binding;
  std::string line;
  if (const source::Buffer* buffer = repl.session().sources().find(where.span.file))
    line = std::to_string(buffer->line_column(where.span.begin).line);
  const bool hit =
      wanted == here || wanted == where.function || wanted == line || wanted == fmt::format("*{}", where.pc);
  return hit ? Status::Good
             : differs(repl, "a stop at `" + wanted + "`", fmt::format("it is at `{}` [pc {}]", here, where.pc));
}

// `slot n == 7`, `slot 0 == 7`
Status expect_slot(Repl& repl, std::string_view rest) {
  const auto op = rest.find("==");
  if (op == std::string_view::npos) return bad(repl, "`slot` needs `SYMBOL == NUMBER`");
  const std::string name(trim(rest.substr(0, op)));
  std::int64_t wanted = 0;
  const std::string_view number = trim(rest.substr(op + 2));
  if (std::from_chars(number.data(), number.data() + number.size(), wanted).ptr != number.data() + number.size())
    return bad(repl, "`slot` needs a number");
  for (const debug::SlotInfo& slot : repl.debugger().heap(repl.frame())) {
    if (slot.expression != name && std::to_string(slot.slot) != name) continue;
    if (!slot.set) return differs(repl, std::string(rest), "the slot is not written yet");
    return slot.value == wanted ? Status::Good : differs(repl, std::string(rest), fmt::format("it is {}", slot.value));
  }
  return differs(repl, std::string(rest), "there is no such slot");
}

Status expect_text(Repl& repl, std::string_view what, const std::string& text, std::string_view rest) {
  const std::string wanted = unquote(rest);
  if (text.find(wanted) != std::string::npos) return Status::Good;
  return differs(repl, fmt::format("{} with `{}`", what, wanted), text.empty() ? "there was none" : "it was: " + text);
}

// `not FORM ...`: the fault seen before does not occur. Nothing is reported about it unless it does.
Status expect_not(Repl& repl, std::string_view rest) {
  if (rest.starts_with("not")) return bad(repl, "`not` may be given once");
  repl.last().unreadable = false;
  const LastResult last = repl.last();
  repl.mute(true);
  const Status seen = command_Expect(repl, rest);
  repl.mute(false);
  const bool bad_form = seen == Status::Failed && repl.last().unreadable;
  repl.last() = last;
  if (bad_form) return command_Expect(repl, rest);
  return seen == Status::Good ? repl.fail(source::message(diag::SeenAgain, rest)) : Status::Good;
}

Status expect_success(Repl& repl) {
  if (!repl.last().failed) return Status::Good;
  return differs(repl, "success", repl.last().errors.empty() ? "it failed" : "the error was: " + repl.last().errors[0]);
}

}  // namespace

Status command_Expect(Repl& repl, std::string_view rest) {
  const auto blank = rest.find_first_of(" \t");
  const std::string_view form = rest.substr(0, blank);
  const std::string_view argument = blank == std::string_view::npos ? std::string_view() : trim(rest.substr(blank));
  if (form == "not") return expect_not(repl, argument);
  if (form == "success") return expect_success(repl);
  if (form == "value") return expect_value(repl, argument);
  if (form == "error") return expect_error(repl, argument);
  if (form == "stop") return expect_stop(repl, argument);
  if (form == "slot") return expect_slot(repl, argument);
  if (form == "output") return expect_text(repl, "output", repl.last().output, argument);
  if (form == "type")
    return expect_text(repl, "a type", repl.last().type ? ir::print_type(repl.last().type) : std::string(), argument);
  if (form.empty()) return bad(repl, "it is empty");
  return bad(repl, fmt::format("`{}` is not one of not, success, value, error, stop, slot, output, type", form));
}

}  // namespace rldb::ui
