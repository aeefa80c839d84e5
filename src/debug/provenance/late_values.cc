#include "debug/provenance/late_values.h"

#include <fmt/format.h>

#include <algorithm>

#include "debug/look/element.h"
#include "debug/provenance/writers.h"
#include "rldb/debug/facts.h"
#include "rldb/runtime/device_error.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

// A machine that only goes forward: to each time from where it is, or from a checkpoint that is nearer.
class Forward {
 public:
  explicit Forward(const Run& run) : run_(run) {}

  // Null: the run has no history, or no memory for that.
  const vm::Machine* at(std::uint64_t time) {
    const vm::Machine* point = run_.nearest(time);
    if (!point) return nullptr;
    const std::uint64_t begin = point->instructions();
    if (failed_from_ == begin) return nullptr;  // it would come by the same place again
    Run::Seek how = Run::Seek::Done;
    if (machine_ && machine_->instructions() >= begin) {
      how = run_.carry_on(*machine_, time);
    } else {
      machine_.reset();
      machine_ = run_.machine_at(time, &how);
    }
    if (how == Run::Seek::Interrupted) abandon_question();
    if (how == Run::Seek::Done) return &*machine_;
    machine_.reset();
    failed_from_ = begin;
    return nullptr;
  }

 private:
  const Run& run_;
  std::optional<vm::Machine> machine_;
  std::optional<std::uint64_t> failed_from_;
};

void lose(CauseStep& step, const Run& run) {
  step.value = "?";
  if (!step.remark.empty() || !step.problem.empty()) return;
  step.remark = fmt::format("its value is not in memory any more, and {}",
                            run.timeline().empty() ? "the run keeps no history"
                                                   : "to execute the run again takes more than the memory limit");
}

}  // namespace

std::string elements_text(const Tensor& t, const std::vector<std::int64_t>& positions) {
  constexpr std::size_t kShown = 8;
  if (const auto read = runtime::read_back(*t.storage()); !read.ok())
    return fmt::format("<not readable: {}>", read.error().message);
  std::string text;
  for (std::size_t i = 0; i < positions.size() && i < kShown; ++i)
    text += (i ? " " : "") + element_text(t, positions[i]);
  if (positions.size() == 1) return text;
  return fmt::format("[{}{}]", text, positions.size() > kShown ? " ..." : "");
}

void LateValues::read(std::vector<CauseStep>& steps) {
  std::stable_sort(open_.begin(), open_.end(),
                   [](const Open& a, const Open& b) { return a.value.call.time < b.value.call.time; });
  Forward forward(run_);
  for (const Open& o : open_) {
    const vm::Machine* m = forward.at(o.value.call.time);
    const Value v = m ? Writers::argument(run_, *m, o.value.call, o.value.touch) : Value();
    if (!v.is(ValueKind::Tensor))
      lose(steps[o.step], run_);
    else
      steps[o.step].value =
          o.value.positions.empty() ? runtime::format_brief(v) : elements_text(v.as_tensor(), o.value.positions);
  }
  open_.clear();
}

}  // namespace rldb::debug
