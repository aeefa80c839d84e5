// The search for inputs without NaN: coordinate descent on the number of elements that are not finite. NNSmith (Liu et
// al., ASPLOS 2023) descends on the inputs of the first operator that is undefined; elements lost on the way have the
// same part here, because one parameter alone often changes nothing in the result.
#include "repro/finite.h"

#include <fmt/format.h>

#include <cmath>

#include "repro/bisect/numbers.h"
#include "repro/cpu_clock.h"
#include "repro/values.h"
#include "rldb/eval/eval.h"
#include "rldb/support/cancel.h"

namespace rldb::repro {

using runtime::Value;
using runtime::ValueKind;

namespace {

struct FloatMap {
  std::string_view text;
  double (*map)(double v);  // of the generated number, mostly in [-1, 1)
};

constexpr FloatMap kFinite[] = {
    {"from 0 to 1", [](double v) { return std::fabs(v); }},
    {"from 0.5 to 1", [](double v) { return 0.5 + std::fabs(v) / 2; }},
    {"from 1 to 2", [](double v) { return 1 + std::fabs(v); }},
    {"from 4 to 8", [](double v) { return 4 + 4 * std::fabs(v); }},
    {"of at most 1/16", [](double v) { return v / 16; }},
    {"from -1 to 0", [](double v) { return -std::fabs(v); }},
    {"from -2 to -1", [](double v) { return -1 - std::fabs(v); }},
};
constexpr std::size_t kMostRuns = 200;
constexpr auto kMostTime = std::chrono::milliseconds(1500);
// Beyond this many parameters only those that come first are changed one by one.
constexpr std::size_t kMostParameters = 16;

class LostCounter : public eval::Watcher {
 public:
  runtime::Result<support::Unit> bound(const ir::Binding*, const Value& value) override {
    lost += not_finite(value);
    return support::Unit{};
  }
  std::int64_t lost = 0;
};

void fill(const Value& value, const FloatMap& numbers) {
  for_each_tensor(value, [&](const runtime::Tensor& t) {
    if (!is_plain_float(t)) return;
    for (std::int64_t i = 0; i < t.element_count(); ++i) store(t, i, numbers.map(t.at(i)));
  });
}

bool has_floats(const Value& value) {
  bool found = false;
  for_each_tensor(value, [&](const runtime::Tensor& t) { found = found || is_plain_float(t); });
  return found;
}

class FiniteSearch {
 public:
  FiniteSearch(std::vector<Value>& args, FiniteRun& run, const RunForFinite& again)
      : first_(copies(args)), args_(args), run_(run), again_(again) {}

  std::string run(const std::vector<bool>& generated) {
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < args_.size() && i < generated.size(); ++i)
      if (generated[i] && has_floats(args_[i])) open.push_back(i);
    if (open.empty()) return {};
    for (const FloatMap& numbers : kFinite) attempt(open, numbers);
    if (open.size() == 1) return said_;
    if (open.size() > kMostParameters) open.resize(kMostParameters);
    for (bool better = true; better && !is_over();) {
      better = false;
      for (const std::size_t i : open)
        for (const FloatMap& numbers : kFinite) better = attempt({i}, numbers) || better;
    }
    return said_;
  }

 private:
  bool is_over() const {
    return run_.lost.of_result == 0 || runs_ >= kMostRuns || CpuClock::now() - start_ > kMostTime;
  }

  bool attempt(const std::vector<std::size_t>& which, const FloatMap& numbers) {
    if (is_over()) return false;
    support::poll();
    ++runs_;
    std::vector<Value> other = args_;
    for (const std::size_t i : which) {
      other[i] = copies({first_[i]})[0];
      fill(other[i], numbers);
    }
    auto made = again_(other);
    if (!made || !(made->lost < run_.lost)) return false;
    args_ = std::move(other);
    run_ = std::move(*made);
    said_ = said_.empty() ? fmt::format("floats {}", numbers.text) : "floats chosen parameter by parameter";
    return true;
  }

  std::vector<Value> first_;
  std::vector<Value>& args_;
  FiniteRun& run_;
  const RunForFinite& again_;
  std::string said_;
  std::size_t runs_ = 0;
  CpuClock::time_point start_ = CpuClock::now();
};

}  // namespace

std::optional<FiniteRun> run_for_finite(session::Session& session, const ir::Module* module, std::string_view function,
                                        const std::vector<Value>& args) {
  LostCounter counter;
  source::Diagnostics ignored;
  const session::RunResult run = session.run_watched(module, function, copies(args), counter, ignored);
  support::poll_cause();
  if (!run.ok) return std::nullopt;
  return FiniteRun{run.value, {not_finite(run.value), counter.lost}};
}

std::string prefer_finite(std::vector<Value>& args, const std::vector<bool>& generated, FiniteRun& run,
                          const RunForFinite& again) {
  if (run.lost.of_result == 0) return {};
  return FiniteSearch(args, run, again).run(generated);
}

}  // namespace rldb::repro
