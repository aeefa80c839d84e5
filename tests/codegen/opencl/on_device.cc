#include "codegen/opencl/on_device.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/kernel_arguments.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"

namespace rldb::codegen::testing {

using runtime::Value;

bool has_device() {
  static const auto devices = opencl_devices();
  static const bool told = [] {
    if (!devices.ok()) MESSAGE("tests on an OpenCL device are skipped: ", devices.error().text);
    return true;
  }();
  return told && devices.ok();
}

KernelText::KernelText(std::string text) {
  ops::install(ctx);
  const source::FileId file = sources.add("kernel.py", std::move(text));
  const auto result = frontend::parse(ctx, sources, file, diagnostics);
  if (!result.ok || !result.module) {
    problem = "does not parse: " + source::render(diagnostics, sources);
    return;
  }
  for (const ir::ModuleEntry& e : result.module->entries)
    if (const auto* p = ir::as<ir::PrimFunc>(e.function)) functions.emplace_back(e.name, p);
  if (functions.empty()) problem = "no PrimFunc in the text";
}

namespace {

std::optional<std::vector<Value>> arguments_for(const runtime::KernelSignature& s, const OnDevice& how) {
  return kernel_arguments(s, {how.symbols, how.low, how.high, 4096});
}

struct RunOfKernel {
  std::vector<Value> args;
  std::optional<runtime::Error> error;
};
RunOfKernel run_copy(runtime::Kernel& kernel, const std::vector<Value>& args) {
  RunOfKernel out;
  for (const Value& v : args) out.args.push_back(runtime::deep_copy(v).value());
  auto done = runtime::call_kernel(kernel, out.args);
  if (!done.ok()) out.error = std::move(done).error();
  return out;
}

std::string text_of_error(const runtime::Error& e) {
  std::string out = e.message;
  for (const std::string& note : e.notes) out += "\n" + note;
  return out;
}

}  // namespace

Compared on_both(ir::Context& ctx, const ir::PrimFunc* f, const std::string& name, const OnDevice& how) {
  using Verdict = Compared::Verdict;
  auto signature = eval::signature_of(f, name);
  if (!signature.ok()) return {Verdict::NotRun, signature.error().text};
  auto kernel = opencl_kernel(ctx, f, name, how.options);
  if (!kernel.ok()) return {Verdict::Refused, kernel.error().text};
  const auto given = arguments_for(*signature, how);
  if (!given) return {Verdict::NotRun, "no arguments of its shapes"};
  const std::vector<Value>& args = *given;
  auto reference = eval::make_eval_kernel(f, *signature, nullptr, how.options.interrupt);
  const RunOfKernel wanted = run_copy(*reference, args);
  if (wanted.error && wanted.error->kind == runtime::ErrorKind::Interrupted) return {Verdict::NotRun, "takes too long"};
  const RunOfKernel got = run_copy(**kernel, args);
  if (wanted.error && got.error)
    return {wanted.error->kind == got.error->kind ? Verdict::BothFail : Verdict::Fails,
            fmt::format("eval: {}; opencl: {}", wanted.error->message, got.error->message)};
  if (wanted.error) return {Verdict::NotRun, "the evaluator: " + wanted.error->message};
  if (got.error) return {Verdict::Fails, text_of_error(*got.error)};
  Compared result{Verdict::Equal, {}};
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string exact = runtime::compare(got.args[i], wanted.args[i], {0, 0, true});
    if (exact.empty()) continue;
    const std::string close = runtime::compare(got.args[i], wanted.args[i], {1e-5, 1e-4, true});
    if (!close.empty()) return {Verdict::Different, fmt::format("argument {}: {}", i, close)};
    result = {Verdict::Close, fmt::format("argument {}: {}", i, exact)};
  }
  return result;
}

std::string same_on_device(const std::string& text, const OnDevice& how) {
  KernelText t(text);
  if (!t.problem.empty()) return t.problem;
  const Compared c = on_both(t.ctx, t.functions[0].second, t.functions[0].first, how);
  return c.verdict == Compared::Verdict::Equal || c.verdict == Compared::Verdict::BothFail ? "" : "? " + c.why;
}

std::string device_error(const std::string& text, const OnDevice& how) {
  KernelText t(text);
  if (!t.problem.empty()) return t.problem;
  auto kernel = opencl_kernel(t.ctx, t.functions[0].second, t.functions[0].first, how.options);
  if (!kernel.ok()) return kernel.error().text;
  const RunOfKernel got = run_copy(**kernel, arguments_for((*kernel)->signature(), how).value());
  if (!got.error) return {};
  runtime::Error e = *got.error;
  e.notes.pop_back();  // names the device
  return text_of_error(e);
}

std::string refusal(const std::string& text) {
  KernelText t(text);
  if (!t.problem.empty()) return t.problem;
  auto source = opencl_source(t.ctx, t.functions[0].second, t.functions[0].first, {});
  return source.ok() ? "" : source.error().text;
}

}  // namespace rldb::codegen::testing
