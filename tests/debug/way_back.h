// By the history of writes: the elements of arguments at the ends of all ways back from some bytes.
#pragma once

#include <doctest/doctest.h>

#include <queue>

#include "debug/helpers.h"
#include "debug/provenance/writers.h"
#include "debug/tracer.h"

namespace rldb::debug::testing {

inline std::shared_ptr<Run> run_of(Fixture& f, const std::vector<Value>& args) {
  source::Diagnostics d;
  auto build = f.session.runnable(d);
  REQUIRE_MESSAGE(build, text_of(d));
  auto machine = f.session.start(*build, "main", args, d);
  REQUIRE_MESSAGE(machine, text_of(d));
  return std::make_shared<Run>(std::make_shared<const CodeMap>(build, f.session), *std::move(machine), f.session,
                               "main", args);
}

class Back {
 public:
  // `prevented`: also by way of conditions that prevented a store.
  explicit Back(const Run& run, bool prevented = false) : run_(run), writers_(run, run.time()), prevented_(prevented) {}

  Tracer::Roots roots(const ValuePath& path, const runtime::Tensor& t, std::int64_t position) {
    auto range = writers_.history().now(path, t);
    REQUIRE(range);
    const std::int64_t width = std::int64_t(t.dtype().bytes());
    found_.clear();
    seen_.clear();
    known_ = true;
    ask({range->interval, range->memory, range->begin + position * width, range->begin + (position + 1) * width},
        run_.time());
    while (!open_.empty()) {
      const Question q = open_.top();
      open_.pop();
      answer(q);
    }
    return found_;
  }
  // Whether all of the last ones are known: the reads of packed functions are not.
  bool known() const { return known_; }

 private:
  struct Question {
    std::uint64_t time;
    MemoryRange range;
    bool operator<(const Question& o) const { return time < o.time; }
  };
  void ask(const MemoryRange& r, std::uint64_t time) {
    if (seen_.emplace(r.interval, r.memory, r.begin, time).second) open_.push({time, r});
  }
  void ask_sources(const Writer& w, const MemoryRange& range) {
    for (const CallSource& s : w.sources)
      for (const Touch& t : w.call.args) {
        if (t.arg != s.arg || t.part != s.part || (s.prevented && !prevented_)) continue;
        const Value v = Writers::argument(run_, w.before->machine, w.call, t);
        const std::int64_t width = std::int64_t(v.as_tensor().dtype().bytes());
        ask({range.interval, t.memory, t.begin + s.position * width, t.begin + (s.position + 1) * width}, w.call.time);
      }
  }
  void answer(const Question& q) {
    MemoryRange range = q.range;
    const Writers::Found found = writers_.last(range, q.time);
    for (const Writers::Found::Passed& p : found.passed) ask_sources(p.writer, p.range);
    if (found.end == WriteHistory::End::Chosen) {
      // Memory that was cleared, constants, the shape heap: no element of an argument.
      if (!found.writer.is_kernel && !found.writer.followed) {
        known_ = known_ && found.writer.callee.starts_with("vm.builtin.");
        return;
      }
      // A kernel that sorts by a packed function among its stores.
      if (!found.writer.followed && found.writer.problem == "it passes memory to a packed function") {
        known_ = false;
        return;
      }
      REQUIRE_MESSAGE(found.writer.followed, found.writer.callee);
      ask_sources(found.writer, range);
      return;
    }
    if (found.end == WriteHistory::End::Created) return;  // never written
    REQUIRE(found.end == WriteHistory::End::Start);
    const auto path = writers_.history().path_at_begin(range.interval, range.memory);
    if (!path || path->frame != 0 || std::size_t(path->reg) >= run_.arguments()->size()) return;  // a constant
    const runtime::Tensor& t = (*run_.arguments())[std::size_t(path->reg)].as_tensor();
    found_.insert(
        {std::size_t(path->reg), (range.begin - std::int64_t(t.byte_offset())) / std::int64_t(t.dtype().bytes())});
  }

  const Run& run_;
  Writers writers_;
  bool prevented_;
  Tracer::Roots found_;
  bool known_ = true;
  std::set<std::tuple<std::size_t, const void*, std::int64_t, std::uint64_t>> seen_;
  std::priority_queue<Question> open_;
};

// Before the end, with a tensor in each of these registers of the only frame.
inline std::vector<ValuePath> tensors_of(const vm::Machine& m) {
  std::vector<ValuePath> places;
  for (std::size_t r = 0; r < m.registers(0).size(); ++r)
    if (m.registers(0)[r].is(runtime::ValueKind::Tensor) && m.registers(0)[r].as_tensor().element_count() > 0)
      places.push_back({0, bytecode::RegName(r), {}});
  return places;
}

}  // namespace rldb::debug::testing
