#include "codegen/llvm/both_engines.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "codegen/kernel_arguments.h"
#include "rldb/frontend/parse.h"
#include "rldb/runtime/foreign_code.h"

namespace rldb::codegen::testing {

using runtime::Value;
using runtime::ValueKind;

Text::Text(std::string text) {
  ops::install(ctx);
  const source::FileId file = sources.add("kernel.py", std::move(text));
  const auto result = frontend::parse(ctx, sources, file, diagnostics);
  if (!result.ok || !result.module) {
    problem = "does not parse: " + source::render(diagnostics, sources);
    return;
  }
  for (const ir::ModuleEntry& e : result.module->entries)
    if (const auto* p = ir::as<ir::PrimFunc>(e.function)) f = p;
  if (!f) problem = "no PrimFunc in the text";
}

std::vector<Value> make_arguments(const runtime::KernelSignature& s, const Case& c) {
  return kernel_arguments(s, {c.symbols, c.low, c.high}).value();
}

namespace {

struct Outcome {
  std::vector<Value> args;
  std::optional<runtime::Error> error;
  Value result;
};

Outcome run(runtime::Kernel& kernel, const std::vector<Value>& args) {
  Outcome out;
  for (const Value& v : args) out.args.push_back(runtime::deep_copy(v).value());
  auto done = runtime::call_kernel(kernel, out.args);
  if (!done.ok())
    out.error = std::move(done).error();
  else
    out.result = std::move(done).value();
  return out;
}

// Empty if the quick tier of a kernel does what the full one did, to the bit.
std::string quick_differs(Text& t, JitOptions options, const std::vector<Value>& args, const Outcome& full) {
  if (options.fp != FpMode::Strict || options.check_accesses) return {};
  options.tiers = true;
  auto jit = Jit::create(options).value();
  auto kernel = jit->add(t.ctx, t.f, "kernel");
  if (!kernel.ok()) return "not compiled: " + kernel.error().text;
  const Outcome got = run(**kernel, args);
  if (got.error.has_value() != full.error.has_value())
    return fmt::format("quick tier: {}", got.error ? got.error->message : "fine");
  if (got.error) return got.error->kind == full.error->kind ? "" : "quick tier: " + got.error->message;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string difference = runtime::compare(got.args[i], full.args[i], {0, 0, true});
    if (!difference.empty()) return fmt::format("quick tier, argument {}: {}", i, difference);
  }
  const std::string difference = runtime::compare(got.result, full.result, {0, 0, true});
  return difference.empty() ? "" : "quick tier, result: " + difference;
}

}  // namespace

std::string both(const std::string& text, const Case& c) {
  Text t(text);
  if (!t.f) return t.problem;
  auto signature = eval::signature_of(t.f, "kernel");
  if (!signature.ok()) return signature.error().text;
  const std::vector<Value> args = make_arguments(signature.value(), c);
  JitOptions options = c.jit;
  options.registry = c.registry;
  auto jit = Jit::create(options).value();
  auto kernel = jit->add(t.ctx, t.f, "kernel");
  if (!kernel.ok()) return "not compiled: " + kernel.error().text;
  auto reference = eval::make_eval_kernel(t.f, signature.value(), c.registry, nullptr);
  const Outcome wanted = run(*reference, args);
  const Outcome got = run(**kernel, args);
  if (const std::string difference = quick_differs(t, options, args, got); !difference.empty()) return difference;
  if (wanted.error.has_value() != got.error.has_value())
    return fmt::format("eval: {}; jit: {}", wanted.error ? wanted.error->message : "fine",
                       got.error ? got.error->message : "fine");
  if (wanted.error)
    return wanted.error->kind == got.error->kind ? ""
                                                 : "eval: " + wanted.error->message + "; jit: " + got.error->message;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string difference = runtime::compare(got.args[i], wanted.args[i], c.tolerance);
    if (!difference.empty()) return fmt::format("argument {}: {}", i, difference);
  }
  const std::string difference = runtime::compare(got.result, wanted.result, c.tolerance);
  if (!difference.empty()) return "result: " + difference;
  return {};
}

namespace {

// A function on the evaluator and as machine code.
struct Engines {
  runtime::KernelSignature signature;
  std::unique_ptr<Jit> jit;
  std::shared_ptr<runtime::Kernel> evaluated, compiled;

  Engines(ir::Context& ctx, const ir::PrimFunc* f, JitOptions options)
      : signature(eval::signature_of(f, "kernel").value()) {
    options.schedule = false;
    jit = Jit::create(options).value();
    auto made = jit->add(ctx, f, "kernel");
    REQUIRE_MESSAGE(made.ok(), made.error().text);
    compiled = std::move(made).value();
    evaluated = eval::make_eval_kernel(f, signature, nullptr, nullptr);
  }

  std::vector<std::vector<Value>> values(const Case& c) {
    const std::vector<Value> args = make_arguments(signature, c);
    std::vector<std::vector<Value>> out;
    for (runtime::Kernel* kernel : {evaluated.get(), compiled.get()}) {
      Outcome done = run(*kernel, args);
      if (done.error) FAIL_CHECK(done.error->message);
      out.push_back(std::move(done.args));
    }
    return out;
  }
};

}  // namespace

void check_same_values(ir::Context& ctx, const ir::PrimFunc* before, const ir::PrimFunc* after,
                       const std::vector<Case>& cases) {
  Engines first(ctx, before, cases.front().jit), second(ctx, after, cases.front().jit);
  for (const Case& c : cases) {
    const auto wanted = first.values(c), got = second.values(c);
    for (std::size_t engine = 0; engine < wanted.size(); ++engine)
      for (std::size_t i = 0; i < wanted[engine].size(); ++i)
        CHECK_MESSAGE(runtime::compare(got[engine][i], wanted[engine][i], {0, 0, true}) == "",
                      (engine == 0 ? "eval" : "jit"), ", argument ", i);
  }
}

void check_same_values(ir::Context& ctx, const ir::PrimFunc* before, const ir::PrimFunc* after, const Case& c) {
  check_same_values(ctx, before, after, std::vector<Case>{c});
}

std::string jit_error(const std::string& text, const Case& c) {
  Text t(text);
  if (!t.f) return t.problem;
  JitOptions options = c.jit;
  options.registry = c.registry;
  auto jit = Jit::create(options).value();
  auto kernel = jit->add(t.ctx, t.f, "kernel");
  if (!kernel.ok()) return kernel.error().text;
  runtime::foreign_code_has_run();  // doctest's, which installs handlers for each test case
  const Outcome got = run(**kernel, make_arguments((*kernel)->signature(), c));
  if (!got.error) return {};
  std::string out = got.error->message;
  for (const std::string& note : got.error->notes) out += "\n" + note;
  return out;
}

std::string elementwise(const std::string& expr, const std::string& a, const std::string& b, const std::string& c) {
  return fmt::format(R"(
@T.prim_func
def kernel(A: T.Buffer(("n",), "{}"), B: T.Buffer(("n",), "{}"), C: T.Buffer(("n",), "{}")):
    n = T.int64()
    for i in range(n):
        C[i] = {}
)",
                     a, b, c, expr);
}

}  // namespace rldb::codegen::testing
