// Fuzz target: random typed TensorIR kernels, run by the JIT and by the evaluator, compared bit by bit.
//
// An input is the text of a kernel, which mutate_one makes anew each time (no input is changed): a finding is a text
// that shows what went wrong by itself. NaNs are one value: neither engine promises their bits.
#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "fuzz/kernel_text.h"
#include "rldb/codegen/llvm/jit.h"
#include "rldb/eval/eval.h"
#include "rldb/frontend/parse.h"
#include "rldb/ops/op_info.h"
#include "rldb/source/diagnostic.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".kernel"};

namespace {

using runtime::Value;

// Pseudo-random elements: small, of both signs, and now and then an extreme one.
double element(Rng& rng, runtime::DType t) {
  const double small = double(int(below(rng, 33)) - 16);
  if (t.is_bool()) return double(below(rng, 2));
  if (t.is_float()) return below(rng, 16) == 0 ? (below(rng, 2) ? -0.0 : 1e4) : small / 4;
  if (t.is_uint()) return below(rng, 4) == 0 ? std::ldexp(1.0, t.bits - 1) + std::abs(small) : std::abs(small);
  return below(rng, 8) == 0 ? -std::ldexp(1.0, t.bits - 1) : small;
}

std::vector<Value> arguments(const runtime::KernelSignature& s) {
  Rng rng(7);
  std::vector<Value> args;
  for (const runtime::KernelParam& p : s.params) {
    std::vector<std::int64_t> shape;
    for (const auto& d : p.shape) shape.push_back(runtime::evaluate(d, {}).value());
    auto t = runtime::Tensor::empty(shape, p.dtype).value();
    for (std::size_t i = 0; i < std::size_t(t->element_count()); ++i)
      runtime::store_double(t->data() + i * p.dtype.bytes(), p.dtype, element(rng, p.dtype));
    args.push_back(Value(std::move(t)));
  }
  return args;
}

std::string run(runtime::Kernel& kernel, std::vector<Value>& args) {
  for (Value& v : args) v = runtime::deep_copy(v).value();
  auto done = runtime::call_kernel(kernel, args);
  return done.ok() ? std::string() : done.error().message;
}

std::string difference(const runtime::Tensor& got, const runtime::Tensor& wanted) {
  const runtime::DType t = wanted.dtype();
  for (std::size_t i = 0; i < std::size_t(wanted.element_count()); ++i) {
    const std::byte *a = got.data() + i * t.bytes(), *b = wanted.data() + i * t.bytes();
    if (std::memcmp(a, b, t.bytes()) == 0) continue;
    const double x = runtime::load_as_double(a, t), y = runtime::load_as_double(b, t);
    if (t.is_float() && std::isnan(x) && std::isnan(y)) continue;
    return fmt::format("element {}: jit {}, eval {}", i, x, y);
  }
  return {};
}

}  // namespace

std::string run_one(const std::string& input) {
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics found;
  const auto parsed = frontend::parse(ctx, sources, sources.add("fuzz.py", input), found);
  // The generator is at fault: it makes valid kernels.
  if (!parsed.ok || !parsed.module) return "does not parse: " + source::render(found, sources);
  for (const ir::ModuleEntry& e : parsed.module->entries) {
    const auto* f = ir::as<ir::PrimFunc>(e.function);
    if (!f) continue;
    auto signature = eval::signature_of(f, "kernel");
    if (!signature.ok()) return signature.error().text;
    auto jit = codegen::Jit::create({}).value();
    auto kernel = jit->add(ctx, f, "kernel");
    if (!kernel.ok()) return "not compiled: " + kernel.error().text;
    std::vector<Value> wanted = arguments(*signature), got = wanted;
    auto reference = eval::make_eval_kernel(f, *signature, nullptr, nullptr);
    const std::string eval_error = run(*reference, wanted), jit_error = run(**kernel, got);
    if (eval_error.empty() != jit_error.empty())
      return fmt::format("eval: {}; jit: {}", eval_error.empty() ? "runs" : eval_error,
                         jit_error.empty() ? "runs" : jit_error);
    if (!eval_error.empty()) continue;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (const std::string text = difference(got[i].as_tensor(), wanted[i].as_tensor()); !text.empty())
        return fmt::format("argument {}: {}", i, text);
  }
  return {};
}

std::string mutate_one(const std::string&, const Pool&, Rng& rng) { return kernel_text(rng); }

}  // namespace rldb::fuzz
