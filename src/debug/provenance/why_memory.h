// `why x[3, 4]`: the call that wrote the element's bytes last, the iteration of its kernel, and the elements that were
// read for it; each of them is the next question, asked about the memory before that call.
//
// Aliases, views, calls of functions and in-place kernels need no rules of their own: the question is about bytes.
// User: Debugger::why.
#pragma once

#include "debug/provenance/names.h"
#include "debug/provenance/writers.h"
#include "rldb/debug/story.h"

namespace rldb::debug {

class WhyMemory {
 public:
  // `time`: the moment that the first question is about.
  WhyMemory(const Run& run, std::uint64_t time, std::vector<CauseStep>& steps)
      : run_(run), map_(run.code()), writers_(run, time), steps_(steps), time_(time) {}

  // An element of the tensor behind a register. False: the run has no history of it, and nothing was added.
  bool tell(std::string_view name, const ValuePath& path, const runtime::Tensor& t, std::int64_t position, int depth);

 private:
  struct Question {
    std::string name;
    runtime::Tensor tensor;
    std::int64_t position;
    MemoryRange range;
    std::uint64_t time;
    const vm::Machine* machine;  // in whose memory the tensor may be
    ReadRole role = ReadRole::Value;
    const ir::Expr* condition = nullptr;
    bool known = true;  // the contents of the tensor
  };
  void answer(const Question& q, int left, std::size_t depth);
  // An element that no call wrote, under another name than that of the argument in whose memory it is.
  void tell_argument(const Question& q, std::size_t depth);
  bool still_holds(const Writer& w, const MemoryRange& range, const Question& q) const;
  void describe(const Writer& w, CauseStep& step) const;
  void causes(const Writer& w, const MemoryRange& range, int left, std::size_t depth);
  void list_arguments(const Writer& w, const MemoryRange& range, std::size_t depth);
  runtime::Value constant_at(const CallMoment& call, int arg) const;
  std::string name_of(const Writer& w, const Touch& touch) const;

  const Run& run_;
  const CodeMap& map_;
  Asker asker_;
  Writers writers_;
  std::vector<CauseStep>& steps_;
  std::uint64_t time_;
};

// The register of the machine that holds the storage, in `frame` if there is one; nullopt: none.
std::optional<ValuePath> path_to(const vm::Machine& m, std::size_t frame, const runtime::Storage* storage);

// `x[3, 4] = 2.5`, or of a region; the name of the step, and the values.
CauseStep element_step(std::string_view name, const runtime::Tensor& t, const std::vector<std::int64_t>& positions,
                       std::size_t depth);

}  // namespace rldb::debug
