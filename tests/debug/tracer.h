// A slow exact tracer: a run executed instruction by instruction, every kernel statement by statement, with the set of
// input elements that each byte of memory depends on. The oracle of questions about elements; it knows no checkpoints,
// no slices and no history.
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "debug/provenance/kernel_writes.h"
#include "debug/provenance/sorting_kernel.h"
#include "debug/run/run.h"

namespace rldb::debug::testing {

class Tracer {
 public:
  // An element of an argument: its number, its position.
  using Root = std::pair<std::size_t, std::int64_t>;
  using Roots = std::set<Root>;

  void stop_before(std::uint64_t time) { end_ = time; }
  // False: the run has a call whose reads are not known; the rest of it is not traced.
  bool trace(Run& run) {
    mark_arguments(run);
    while (run.machine().running() && run.time() < end_) {
      if (!see(run)) return false;
      const std::uint64_t before = run.time();
      (void)run.advance(nullptr, before + 1);
      REQUIRE_MESSAGE(!run.fault(), run.fault()->error.message);
      if (run.time() == before) return false;
      forget_made(run);
    }
    return true;
  }

  // Of the bytes in the final memory.
  const Roots& of(const runtime::Storage* memory, std::int64_t byte) const {
    static const Roots none;
    const auto it = roots_.find({memory, byte});
    return it == roots_.end() ? none : it->second;
  }
  // How many elements that depend on a root the call at a time left in what it wrote.
  std::map<std::uint64_t, std::int64_t> reached(const Root& root) const {
    std::map<std::uint64_t, std::int64_t> counts;
    for (const auto& [time, places] : written_)
      for (const auto& [place, roots] : places) counts[time] += std::int64_t(roots.contains(root));
    std::erase_if(counts, [](const auto& c) { return c.second == 0; });
    return counts;
  }

 private:
  void mark_arguments(Run& run) {
    const auto registers = run.machine().registers(0);
    const std::size_t count = run.arguments()->size();
    for (std::size_t a = 0; a < count; ++a) {
      if (!registers[a].is(runtime::ValueKind::Tensor)) continue;
      const runtime::Tensor& t = registers[a].as_tensor();
      for (std::int64_t i = 0; i < t.element_count(); ++i)
        roots_[{t.storage().get(), std::int64_t(t.byte_offset()) + i * std::int64_t(t.dtype().bytes())}] = {{a, i}};
    }
  }

  bool see(Run& run) {
    made_ = -1;
    const bytecode::Executable& exe = run.code().executable();
    const bytecode::Instruction i = exe.instruction(run.pc());
    if (i.op != bytecode::Opcode::Call) return true;
    using Kind = vm::TargetKind;
    const Kind kind = run.machine().program().target_kind(i.callee);
    if (!run.is_kernel_call(run.pc())) {
      if (kind == Kind::Packed || kind == Kind::Unresolved) return false;
      if (exe.functions[std::size_t(i.callee)].name.find("alloc_storage") != std::string::npos) made_ = i.dst;
      return true;
    }
    const ir::PrimFunc* f = run.kernel_function(run.machine(), run.pc());
    const auto args = f ? run.kernel_arguments(run.machine()) : std::nullopt;
    if (!args) return false;
    auto& written = written_[run.time()];
    if (const auto sorting = sorting_call(f)) return sort(*sorting, *args, written);
    const auto executed = each_write(f, *args, [&](const MemoryPlace& place, const KernelWrite& w) {
      Roots roots;
      for (const KernelRead& r : w.reads)
        if (const auto it = roots_.find(r.place); it != roots_.end())
          roots.insert(it->second.begin(), it->second.end());
      roots_[place] = roots;
      written[place] = std::move(roots);
    });
    const auto is_argument = [&](const void* memory) {
      return std::any_of(args->begin(), args->end(), [&](const runtime::Value& v) {
        return v.is(runtime::ValueKind::Tensor) && v.as_tensor().storage().get() == memory;
      });
    };
    std::erase_if(written, [&](const auto& w) { return !is_argument(w.first.memory); });
    return executed.ok();
  }

  // Along their only axis: every element that is written comes from all that are sorted.
  bool sort(const SortingCall& call, const std::vector<runtime::Value>& args, std::map<MemoryPlace, Roots>& written) {
    if (call.first_output != 1 || args[call.arrays[0]].as_tensor().shape().size() != 1) return false;
    const auto each = [&](std::size_t array, const auto& f) {
      const runtime::Tensor& t = args[call.arrays[array]].as_tensor();
      for (std::int64_t i = 0; i < t.element_count(); ++i)
        f(MemoryPlace{t.storage().get(), std::int64_t(t.byte_offset()) + i * std::int64_t(t.dtype().bytes())});
    };
    Roots all;
    each(0, [&](const MemoryPlace& p) { all.insert(roots_[p].begin(), roots_[p].end()); });
    for (std::size_t a = 1; a < call.arrays.size(); ++a)
      each(a, [&](const MemoryPlace& p) { written[p] = roots_[p] = all; });
    return true;
  }

  // New memory may be at an address that was freed.
  void forget_made(Run& run) {
    if (made_ < 0 || !run.machine().running()) return;
    const runtime::Value* v = run.machine().read_register(run.machine().frames().size() - 1, made_);
    if (!v || !v->is(runtime::ValueKind::Storage)) return;
    std::erase_if(roots_, [&](const auto& r) { return r.first.memory == v->storage_ref().get(); });
  }

  std::map<MemoryPlace, Roots> roots_;
  std::map<std::uint64_t, std::map<MemoryPlace, Roots>> written_;  // by the time of the call
  bytecode::RegName made_ = -1;
  std::uint64_t end_ = Run::kForever;
};

}  // namespace rldb::debug::testing
