// Fuzz target: random typed kernels (kernel_input.h) give the same bits on the evaluator and in both tiers of the JIT,
// or the same kind of error. The sign of a zero counts, the sign and the bits of a NaN do not.
#include <fmt/format.h>

#include <cmath>

#include "fuzz/kernel_input.h"
#include "rldb/session/prepare.h"
#include "rldb/session/session.h"
#include "rldb/support/cancel.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".kernel"};

namespace {

using runtime::Tensor;
using runtime::Value;
using session::Engine;

struct Silent : runtime::Output {
  void write(std::string_view) override {}
};

// The numbers that show faults more often than chance would.
double special(Rng& rng) {
  constexpr double kValues[] = {0,      -0.0, 1,          -1,         2,          -3,          7,     127,
                                128,    -128, 255,        256,        0.5,        -0.5,        32767, 32768,
                                65535., 1e-3, 2147483647, 2147483648, 4294967295, -2147483648.};
  return kValues[below(rng, std::size(kValues))];
}

void fill(const Tensor& t, Rng& rng) {
  for (std::int64_t i = 0; i < t.element_count(); ++i) {
    std::byte* at = t.data() + std::size_t(i) * t.dtype().bytes();
    if (t.dtype().is_bool())
      runtime::store_int(at, t.dtype(), std::int64_t(rng() & 1));
    else if (t.dtype().is_float())
      runtime::store_double(at, t.dtype(),
                            below(rng, 3) == 0 ? special(rng) : double(std::int64_t(rng() % 4001) - 2000) / 64);
    else
      runtime::store_int(at, t.dtype(),
                         below(rng, 3) == 0 ? std::int64_t(special(rng)) : std::int64_t(rng() >> below(rng, 64)));
  }
}

struct Ran {
  std::vector<Value> args;
  std::optional<runtime::ErrorKind> error;
  std::string message;
};

std::optional<Ran> run(session::Session& session, Engine engine, const std::vector<Value>& args, std::string& problem) {
  session.options().engine = engine;
  Ran ran;
  for (const Value& v : args) ran.args.push_back(runtime::deep_copy(v).value());
  source::Diagnostics found;
  const session::RunResult result = session.run("k", ran.args, found);
  support::poll();
  if (result.ok) return ran;
  ran.message = found.first_error();
  if (!result.fault) {
    problem = "it does not run: " + ran.message;
    return std::nullopt;
  }
  ran.error = result.fault->error.kind;
  return ran;
}

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

std::string difference(const Tensor& eval, const Tensor& jit, std::size_t argument) {
  for (std::int64_t i = 0; i < eval.element_count(); ++i) {
    const std::size_t at = std::size_t(i) * eval.dtype().bytes();
    if (eval.dtype().is_float()
            ? same(eval.at(i), jit.at(i))
            : std::equal(eval.data() + at, eval.data() + at + eval.dtype().bytes(), jit.data() + at))
      continue;
    return fmt::format("argument {}, element {}: eval {}, jit {}", argument, i, eval.at(i), jit.at(i));
  }
  return {};
}

std::string difference(const Ran& eval, const Ran& jit) {
  if (eval.error != jit.error)
    return fmt::format("eval: {}; jit: {}", eval.error ? eval.message : "fine", jit.error ? jit.message : "fine");
  if (eval.error) return {};
  for (std::size_t i = 0; i < eval.args.size(); ++i)
    if (auto d = difference(eval.args[i].as_tensor(), jit.args[i].as_tensor(), i); !d.empty()) return d;
  return {};
}

// Inputs are small, so that the first run is in the quick tier; compiled ahead, kernels are in the full one.
bool compile_fully(session::Session& session) {
  source::Diagnostics ignored;
  const auto build = session.runnable(ignored);
  if (build) session::prepare_kernels(*build, "k");
  support::poll();
  return build != nullptr;
}

}  // namespace

std::string run_one(const std::string& input) {
  constexpr std::string_view kValues = "# values ";
  Rng rng(input.starts_with(kValues) ? std::strtoull(input.c_str() + kValues.size(), nullptr, 10) : 1);
  Silent silent;
  session::Session session({}, &silent);
  source::Diagnostics found;
  if (!session.load_text("kernel", input, found)) return "it does not load: " + found.first_error();
  const auto made = session.arguments("k", {}, found);
  if (!made) return "no arguments: " + found.first_error();
  std::vector<Value> args;
  for (const session::Argument& a : *made) {
    args.push_back(a.value);
    fill(a.value.as_tensor(), rng);
  }
  std::string problem;
  const auto eval = run(session, Engine::Eval, args, problem);
  const auto quick = eval ? run(session, Engine::Jit, args, problem) : std::nullopt;
  if (!quick) return problem;
  if (auto d = difference(*eval, *quick); !d.empty()) return d;
  if (!compile_fully(session)) return "it is built no more";
  const auto full = run(session, Engine::Jit, args, problem);
  if (!full) return problem;
  const std::string d = difference(*eval, *full);
  return d.empty() ? d : "full tier: " + d;
}

std::string mutate_one(const std::string&, const Pool&, Rng& rng) { return KernelText(rng).make(); }

}  // namespace rldb::fuzz
