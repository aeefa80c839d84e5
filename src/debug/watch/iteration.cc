// The iteration of a watched change: the call is made again on a copy, and the first changed element looked up.
#include "debug/watch/iteration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "debug/look/planned.h"
#include "debug/look/values.h"
#include "debug/provenance/kernel_writes.h"
#include "debug/provenance/names.h"
#include "debug/watch/numeric.h"
#include "debug/watch/watched.h"
#include "rldb/debug/facts.h"
#include "rldb/expression/array.h"
#include "rldb/ir/printer.h"
#include "rldb/runtime/shared_memory.h"
#include "rldb/support/text.h"

namespace rldb::debug {

using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;
using support::Ref;

namespace {

// The watched tensors in the machine's memory after the change, each with the elements that are watched (none: all).
struct WatchedPart {
  Ref<Tensor> tensor;
  std::vector<std::int64_t> positions;
};

class WatchedParts {
 public:
  WatchedParts(const Debugger::Impl& d, const Breakpoint& watch, const vm::Machine& m)
      : d_(d), watch_(watch), m_(m), map_(d.run->code()) {}

  std::vector<WatchedPart> find() {
    std::vector<WatchedPart> parts;
    const auto frame = frame_of_names();
    if (!frame) return parts;
    ValueFinder finder(d_, m_, map_, *frame, 0, false);
    const auto [target, subscript] = expression::split_target(watch_.spec);
    for (const std::string& name : watched_names(watch_.spec)) {
      auto held = finder.held(name);
      Value v = held.ok() ? *std::move(held) : after_freeing(name, *frame);
      if (!v.is(ValueKind::Tensor)) continue;
      WatchedPart part{v.tensor_ref(), {}};
      if (storage_operand(watch_.spec)) part.tensor = all_of(*part.tensor->storage());
      if (target == name && !subscript.empty())
        if (auto chosen = expression::positions_of(*part.tensor, subscript); chosen.ok())
          part.positions = *std::move(chosen);
      parts.push_back(std::move(part));
    }
    return parts;
  }

 private:
  // With `watch -a` the innermost call of the function.
  std::optional<std::size_t> frame_of_names() const {
    const auto frames = m_.frames();
    if (!watch_.every_activation) return watch_.frame < frames.size() ? std::optional(watch_.frame) : std::nullopt;
    for (std::size_t i = frames.size(); i-- > 0;)
      if (map_.executable().functions[std::size_t(frames[i].function)].name == watch_.function) return i;
    return std::nullopt;
  }
  Value after_freeing(const std::string& name, std::size_t frame) const {
    const auto known = d_.watched_memory.find(watch_.number);
    if (known == d_.watched_memory.end() || !known->second.contains(name)) return {};
    const MemoryOfName& at = known->second.find(name)->second;
    const vm::Frame& f = m_.frames()[frame];
    const auto plan = plan_of(map_.executable(), f.function);
    if (!plan || std::size_t(at.storage) >= plan->storages.size()) return {};
    auto memory = memory_of(plan->storages[std::size_t(at.storage)], f.pc, m_.registers(frame));
    if (!memory) return {};
    auto view = Tensor::view(std::move(memory), at.offset, at.shape, at.dtype);
    return view.ok() ? Value(*std::move(view)) : Value();
  }
  static Ref<Tensor> all_of(runtime::Storage& s) {
    return support::make_ref<Tensor>(Ref<runtime::Storage>(&s), 0, std::vector<std::int64_t>{std::int64_t(s.size())},
                                     runtime::DType::UInt(8));
  }

  const Debugger::Impl& d_;
  const Breakpoint& watch_;
  const vm::Machine& m_;
  const CodeMap& map_;
};

// The first watched element whose bytes differ, else the first of all, as a byte of the storage; -1: none.
std::int64_t first_changed(const WatchedPart& part, const runtime::Storage& before, const Tensor& written) {
  const Tensor& t = *part.tensor;
  const std::int64_t width = std::int64_t(t.dtype().bytes());
  const std::int64_t begin = std::int64_t(written.byte_offset());
  const std::int64_t end = begin + std::int64_t(written.byte_size());
  std::int64_t first = -1;
  const std::int64_t count = part.positions.empty() ? t.element_count() : std::int64_t(part.positions.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t position = part.positions.empty() ? i : part.positions[std::size_t(i)];
    const std::int64_t at = std::int64_t(t.byte_offset()) + position * width;
    if (at < begin || at + width > end) continue;
    if (first < 0) first = at;
    if (std::memcmp(before.data() + at, t.storage()->peek() + at, std::size_t(width)) != 0) return at;
  }
  return first;
}

std::string at_iteration(const KernelOrigin& origin, const Tensor& written, std::int64_t byte) {
  const std::string element =
      index_text((byte - std::int64_t(written.byte_offset())) / std::int64_t(written.dtype().bytes()), written.shape());
  const std::string loops = iteration_text(origin.last.loops);
  return fmt::format("  element {} stored {}: {}", element, loops.empty() ? "outside of loops" : "at " + loops,
                     origin.last.store ? support::one_line(ir::print_stmt(origin.last.store)) : "by a sort");
}

}  // namespace

std::string storing_iteration(const Debugger::Impl& d, const Breakpoint& watch, std::uint64_t time) {
  const Run& run = *d.run;
  auto m = run.machine_at(time);
  if (!m || !m->running()) return "  (the run has no history to tell the iteration)";
  std::string name;
  const ir::PrimFunc* f = run.kernel_of(*m, &name);
  const auto args = f ? run.kernel_arguments(*m) : std::nullopt;
  if (!args) return "  (no iteration: it was not stored by a kernel whose TensorIR is known)";
  const runtime::ForHistory of_history;
  auto old = m->snapshot();
  const auto before = old.ok() ? run.kernel_arguments(*old) : std::nullopt;
  if (!before || !run.quietly([&] { return ran_out(m->step(1)); }))
    return "  (there is no memory to tell the iteration)";
  std::string problem = "its names are in no memory that the kernel was given";
  for (const WatchedPart& part : WatchedParts(d, watch, *m).find())
    for (std::size_t i = 0; i < args->size(); ++i) {
      const bool same = (*args)[i].is(ValueKind::Tensor) && (*args)[i].as_tensor().storage() == part.tensor->storage();
      if (!same) continue;
      const Tensor& written = (*before)[i].as_tensor();
      std::int64_t byte = first_changed(part, *written.storage(), written);
      if (byte < 0) continue;
      byte -= (byte - std::int64_t(written.byte_offset())) % std::int64_t(written.dtype().bytes());
      const auto origin = kernel_origin(f, *before, {written.storage().get(), byte});
      if (!origin.ok()) {
        problem = origin.error().message;
      } else if (origin->written) {
        return at_iteration(*origin, written, byte);
      }
    }
  return fmt::format("  (the iteration of {} cannot be told: {})", name, problem);
}

}  // namespace rldb::debug
