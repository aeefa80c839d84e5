// `why x[3, 4]`: the call that wrote the element's bytes last, the iteration of its kernel, and the elements that were
// read for it; each of them is the next question, asked about the memory before that call.
//
// Aliases, views, calls of functions and in-place kernels need no rules of their own: the question is about bytes. The
// conditions of the `if`s that decided that the call was made, and which memory it was given, are told with the reads.
// User: Debugger::why.
#pragma once

#include <set>
#include <variant>

#include "debug/provenance/decisions.h"
#include "debug/provenance/late_values.h"
#include "debug/provenance/names.h"
#include "debug/provenance/writers.h"
#include "rldb/debug/story.h"

namespace rldb::debug {

class WhyMemory {
 public:
  // `time`: the moment that the first question is about.
  WhyMemory(const Run& run, std::uint64_t time, std::vector<CauseStep>& steps)
      : run_(run),
        map_(run.code()),
        writers_(run, time),
        decisions_(map_, writers_.history()),
        steps_(steps),
        time_(time),
        late_(run) {}

  // An element of the tensor behind a register. False: the run has no history of it, and nothing was added.
  bool tell(std::string_view name, const ValuePath& path, const runtime::Tensor& t, std::int64_t position, int depth);

 private:
  // About bytes at a time. Holds no memory of the run: of large values only one machine is there at any time.
  struct Question {
    CauseStep step;
    MemoryRange range;
    std::uint64_t time = 0;
    std::optional<CauseStep> argument;   // told if no call wrote them: the argument in whose memory they are
    std::optional<LateValue> late = {};  // the value of the step, which is read at the end
    std::vector<Decision> chosen = {};   // that the name stands for this memory
  };
  // A read of the call that is told without being followed.
  struct Leaf {
    CauseStep step;
    std::optional<LateValue> late;
  };
  using Cause = std::variant<Leaf, Question>;

  void answer(Question q, int left, std::size_t depth);
  void follow(std::vector<Cause> causes, int left, std::size_t depth);
  // In the memory of the outermost function's parameters, if it has another name there.
  std::optional<CauseStep> argument_of(const vm::Machine& m, const runtime::Tensor& element, std::int64_t position,
                                       std::string_view known_as, std::size_t depth, bool known = true) const;
  void describe(const Writer& w, CauseStep& step) const;
  std::vector<Cause> causes_of(const Writer& w, const MemoryRange& range, std::size_t depth);
  std::vector<Decision> chosen_at(const ValuePath& path);
  void add_decisions(const std::vector<Decision>& all, std::size_t depth, std::vector<Cause>& causes);
  void add_passed(const std::vector<Writers::Found::Passed>& passed, std::size_t depth, std::vector<Cause>& causes);
  Cause condition_cause(const Decision& d, std::size_t depth) const;
  std::vector<Decision> decided(const Writer& w, const MemoryRange& range);
  std::vector<Cause> arguments_of(const Writer& w, const MemoryRange& range, std::size_t depth);
  // An argument of a call: its contents if they are at hand, else only its place, and where to read them.
  struct Given {
    runtime::Value value;
    std::optional<LateValue> late;
  };
  Given given(const Writer& w, const Touch& touch, std::size_t interval);
  void add(Leaf leaf);
  runtime::Value constant_at(const CallMoment& call, int arg) const;
  std::string name_of(const Writer& w, const Touch& touch) const;

  const Run& run_;
  const CodeMap& map_;
  Asker asker_;
  Writers writers_;
  Decisions decisions_;
  std::set<std::uint64_t> told_;  // decisions, by the time of reading the condition
  std::vector<CauseStep>& steps_;
  std::uint64_t time_;
  LateValues late_;
};

// The register of the machine that holds the storage, in `frame` if there is one; nullopt: none.
std::optional<ValuePath> path_to(const vm::Machine& m, std::size_t frame, const runtime::Storage* storage);

// `x[3, 4] = 2.5`, or of a region; the name of the step, and the values if they are known.
CauseStep element_step(std::string_view name, const runtime::Tensor& t, const std::vector<std::int64_t>& positions,
                       std::size_t depth, bool known = true);

}  // namespace rldb::debug
