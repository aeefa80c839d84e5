// Criteria for passing, case by case.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "conformance/conformance.h"
#include "rldb/frontend/parse.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/repro/roundtrip.h"
#include "rldb/repro/validate.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/session.h"
#include "rldb/support/file.h"

namespace rldb::conformance {

using runtime::Value;
using session::Session;

Outcome failed(std::string reason) {
  for (char& c : reason)
    if (c == '\n' || c == '\t') c = ' ';
  if (reason.size() > 300) reason = reason.substr(0, 297) + "...";
  return {false, std::move(reason)};
}

namespace {

struct Silent : runtime::Output {
  void write(std::string_view) override {}
};

std::string first_error(const source::Diagnostics& d, const source::SourceManager& sources) {
  for (const source::Diagnostic& e : d.all()) {
    if (e.severity != source::Severity::Error) continue;
    const source::Buffer* buffer = sources.find(e.span.file);
    return buffer ? fmt::format("line {}: {}", buffer->line_column(e.span.begin).line, e.message) : e.message;
  }
  return "no diagnostic";
}

Outcome run_parse(const Case& c) {
  Silent silent;
  Session session({}, &silent);
  source::Diagnostics d;
  if (!session.load_file(c.path, d)) return failed(first_error(d, session.sources()));
  const std::string difference = repro::roundtrip(session, session.options().print, d);
  if (difference.empty()) return {true, {}};
  return failed(d.has_errors() ? difference + ": " + first_error(d, session.sources()) : difference);
}

// The unmodified module of a file, verified or not.
const ir::Module* read_module(Session& session, const std::string& path, std::string& text, source::Diagnostics& d) {
  auto bytes = support::read_file(path);
  if (!bytes.ok()) return nullptr;
  text = *bytes;
  const source::FileId file = session.sources().add(path, std::move(bytes).value());
  const auto parsed = frontend::parse(session.context(), session.sources(), file, d);
  return parsed.ok ? parsed.module : nullptr;
}

// Without the leading comment lines and the trailing line end.
std::string_view without_header(std::string_view text) {
  while (!text.empty() && (text.front() == '#' || text.front() == '\n')) {
    const std::size_t end = text.find('\n');
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

std::string first_different_line(std::string_view wanted, std::string_view got) {
  const auto differ = std::mismatch(wanted.begin(), wanted.end(), got.begin(), got.end());
  const auto line_at = [](std::string_view text, std::size_t at) {
    const std::size_t before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const auto at = std::size_t(differ.first - wanted.begin());
  return fmt::format("`{}` instead of `{}`", line_at(got, at), line_at(wanted, at));
}

Outcome run_print(const Case& c) {
  Silent silent;
  Session session({}, &silent);
  source::Diagnostics d;
  std::string text;
  const ir::Module* module = read_module(session, c.path, text, d);
  if (!module) return failed(first_error(d, session.sources()));
  ir::PrintOptions options;
  options.show_meta = true;
  const std::string printed = ir::print(module, options);
  const std::string_view wanted = without_header(text), got = without_header(printed);
  return wanted == got ? Outcome{true, {}} : failed(first_different_line(wanted, got));
}

// A text that does not parse, or does not come back in the current spelling, is a failure of Kind::Parse.
Outcome run_spelling(const Case& c) {
  Silent silent;
  Session session({}, &silent);
  source::Diagnostics d;
  ir::PrintOptions options = session.options().print;
  if (!session.load_file(c.path, d) || !repro::roundtrip(session, options, d).empty()) return {true, {}};
  options.syntax = c.syntax == "rfc" ? ir::Syntax::Rfc : ir::Syntax::Sinfo;
  if (!ir::unsayable(session.module(), options.syntax).empty()) return {true, {}};
  d = {};
  const std::string difference = repro::roundtrip(session, options, d);
  if (difference.empty()) return {true, {}};
  return failed(d.has_errors() ? difference + ": " + first_error(d, session.sources()) : difference);
}

Outcome run_agree(const Case& c) {
  Silent silent;
  session::Options options;
  // Kernels fuse multiplication and addition in reductions; the evaluator rounds each.
  options.tolerance.atol = options.tolerance.rtol = 1e-3;
  options.check_accesses = check_accesses;
  Session session(options, &silent);
  source::Diagnostics d;
  if (!session.load_file(c.path, d) || !session.module()) return {true, {}};
  const repro::Validation v = repro::validate_engines(session);
  return v.difference.empty() ? Outcome{true, {}} : failed(v.difference);
}

Outcome run_raises(const Case& c) {
  Silent silent;
  Session session({}, &silent);
  source::Diagnostics d;
  if (session.load_file(c.path, d)) return failed("accepted");
  return {true, {}};
}

// Applies `pass` to the session's module and compares the result with the module of a file.
Outcome apply_and_compare(Session& session, const Case& c, const std::string& expected) {
  source::Diagnostics d;
  auto parsed = passes::parse_pipeline(c.pass);
  if (!parsed.ok()) return failed(parsed.error().text);
  const bool ran = session.run_passes(c.pass, d);
  if (c.kind == Kind::Trace && c.outcome != "ok")
    return ran ? failed("the pass should have failed") : Outcome{true, {}};
  if (!ran) return failed(first_error(d, session.sources()));
  const ir::Module* got = session.module();
  auto bytes = support::read_file(expected);
  if (!bytes.ok()) return failed(bytes.error().reason);
  const source::FileId file = session.sources().add(expected, std::move(bytes).value());
  source::Diagnostics d2;
  const auto wanted = frontend::parse(session.context(), session.sources(), file, d2);
  if (!wanted.ok || !wanted.module) return failed("expected text: " + first_error(d2, session.sources()));
  if (const auto difference = ir::first_difference(got, wanted.module))
    return failed(fmt::format("differs at {}: {} vs {}", difference->path, difference->left, difference->right));
  return {true, {}};
}

Outcome run_pass(const Case& c) {
  Silent silent;
  Session session({}, &silent);
  source::Diagnostics d;
  const std::string before = c.kind == Kind::Pairs ? c.path + "/before.py" : c.path;
  const std::string after = c.kind == Kind::Pairs ? c.path + "/expected.py" : c.after;
  if (!session.load_file(before, d)) return failed(first_error(d, session.sources()));
  return apply_and_compare(session, c, after);
}

// Rebuilds a value of a type from the flat list of arrays in a file.
std::optional<Value> take(const ir::Type* type, const runtime::NamedTensors& arrays, std::size_t& next) {
  if (const auto* tuple = ir::as<ir::TupleType>(type)) {
    std::vector<Value> fields;
    for (const ir::Type* t : tuple->fields) {
      auto v = take(t, arrays, next);
      if (!v) return std::nullopt;
      fields.push_back(std::move(*v));
    }
    return Value::of_tuple(std::move(fields));
  }
  const std::string name = fmt::format("in{}", next);
  for (const auto& [key, value] : arrays) {
    if (key != name) continue;
    ++next;
    const runtime::Tensor& t = value.as_tensor();
    if (const auto* tensor = ir::as<ir::TensorType>(type)) {
      if (tensor->dtype.is_void() || tensor->dtype == t.dtype()) return value;
      auto again = runtime::reinterpret_as(value, tensor->dtype);
      return again.ok() ? std::optional<Value>(std::move(again).value()) : std::optional<Value>(value);
    }
    if (ir::as<ir::PrimType>(type) && t.element_count() == 1)
      return t.dtype().is_float() ? Value::of_float(t.at(0)) : Value::of_int(runtime::load_as_int(t.data(), t.dtype()));
    if (ir::as<ir::ShapeType>(type)) {
      std::vector<std::int64_t> dims;
      for (std::int64_t i = 0; i < t.element_count(); ++i) dims.push_back(std::int64_t(t.at(i)));
      return Value::of_shape(std::move(dims));
    }
    return value;
  }
  return std::nullopt;
}

void flatten(const Value& v, std::vector<Value>& out) {
  if (v.is(runtime::ValueKind::Tuple)) {
    for (const Value& f : v.as_tuple().fields) flatten(f, out);
  } else if (!v.is_null()) {
    out.push_back(v);
  }
}

runtime::Tolerance tolerance_of(runtime::DType t) {
  runtime::Tolerance tolerance;
  tolerance.atol = tolerance.rtol = 0;
  if (!t.is_float()) return tolerance;
  if (t.bits >= 64) return {1e-9, 1e-9, true};
  if (t.bits == 32) return {1e-4, 1e-4, true};
  if (t.is_bfloat16()) return {3e-2, 3e-2, true};
  if (t.bits == 16) return {5e-3, 5e-3, true};
  return {2e-1, 2e-1, true};
}

std::string compare_output(const Value& got, const Value& wanted) {
  Value want = wanted;
  if (!got.is(runtime::ValueKind::Tensor)) {
    const runtime::Tensor& t = want.as_tensor();
    if (got.is(runtime::ValueKind::Int) || got.is(runtime::ValueKind::Bool))
      return t.element_count() == 1 && t.at(0) == double(got.as_int()) ? "" : "a scalar differs";
    if (got.is(runtime::ValueKind::Float))
      return t.element_count() == 1 && t.at(0) == got.as_float() ? "" : "a scalar differs";
    if (got.is(runtime::ValueKind::Shape)) {
      if (t.element_count() != std::int64_t(got.as_shape().size())) return "a shape's rank differs";
      for (std::size_t i = 0; i < got.as_shape().size(); ++i)
        if (t.at(std::int64_t(i)) != double(got.as_shape()[i])) return "a shape differs";
      return {};
    }
    return "the result is " + runtime::describe(got);
  }
  const runtime::DType dtype = got.as_tensor().dtype();
  if (want.as_tensor().dtype() != dtype) {
    auto again = runtime::reinterpret_as(want, dtype);
    if (again.ok()) want = std::move(again).value();
  }
  return runtime::compare(got, want, tolerance_of(dtype));
}

Outcome run_run(const Case& c) {
  Silent silent;
  session::Options options;
  options.engine = c.engine == "eval" ? session::Engine::Eval : session::Engine::Jit;
  options.quick_kernels = false;
  options.check_accesses = check_accesses;
  Session session(options, &silent);
  source::Diagnostics d;
  if (!session.load_file(c.path, d)) return failed(first_error(d, session.sources()));
  auto bytes = support::read_file(c.values);
  if (!bytes.ok()) return failed(bytes.error().reason);
  auto arrays = runtime::read_npz(*bytes, c.values);
  if (!arrays.ok()) return failed(arrays.error().message);
  const auto* f = ir::as<ir::Function>(session.module()->find(c.function));
  if (!f) return failed("no function " + c.function);
  std::vector<Value> args;
  std::size_t next = 0;
  for (const ir::Var* p : f->params) {
    auto v = take(p->type, *arrays, next);
    if (!v) return failed(fmt::format("no input for `{}`", p->name));
    args.push_back(std::move(*v));
  }
  const session::RunResult result = session.run(c.function, args, d);
  if (!result.ok) return failed(first_error(d, session.sources()));
  std::vector<Value> outputs;
  flatten(result.value, outputs);
  std::size_t wanted = 0;
  for (const auto& [key, value] : *arrays) {
    if (!key.starts_with("out")) continue;
    const auto index = std::size_t(std::atoi(key.c_str() + 3));
    ++wanted;
    if (index >= outputs.size()) return failed(fmt::format("{} outputs, {} is missing", outputs.size(), key));
    const std::string difference = compare_output(outputs[index], value);
    if (!difference.empty()) return failed(key + ": " + difference);
  }
  if (wanted != outputs.size()) return failed(fmt::format("{} outputs, {} expected", outputs.size(), wanted));
  return {true, {}};
}

}  // namespace

Outcome run_case(const Case& c) {
  switch (c.kind) {
    case Kind::Parse:
      return run_parse(c);
    case Kind::Raises:
      return run_raises(c);
    case Kind::Pairs:
    case Kind::Trace:
      return run_pass(c);
    case Kind::Runs:
      return run_run(c);
    case Kind::Print:
      return run_print(c);
    case Kind::Spelling:
      return run_spelling(c);
    case Kind::Agree:
      return run_agree(c);
    case Kind::RelayText:
    case Kind::RelayPrints:
    case Kind::RelayCounts:
    case Kind::RelayVerdict:
    case Kind::RelayEqual:
      return run_relay(c);
    case Kind::RelayTranslated:
      return run_relay_translated(c);
    case Kind::RelayProgram:
      return run_relay_program(c);
    case Kind::Onnx:
      return run_onnx(c);
    case Kind::RelayExecutable:
      return run_relay_executable(c);
  }
  return failed("?");
}

}  // namespace rldb::conformance
