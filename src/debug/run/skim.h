// A part of a run executed again without the work on large tensors.
//
// A question about who wrote an element needs the structure of what happened: calls, registers, shapes, which memory is
// whose. The contents of large tensors are rarely among it. A skim shares large memory with the checkpoint instead of
// copying it, and leaves out kernels that would read or write such memory; what they write is unknown from then on. A
// call that needs unknown contents (a condition, a count of elements) or that might write shared memory ends the skim:
// the caller then executes the part whole (Run::machine_at). User: the provenance of elements.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "debug/run/run.h"

namespace rldb::debug {

struct Skimmed {
  vm::Machine machine;
  std::set<const runtime::Storage*> unknown;  // memory whose contents are not those of the run
};
enum class SkimEnd : std::uint8_t {
  Done,
  Refused,  // the run cannot be skimmed so far
  Interrupted,
};

// Does a builtin look at shapes and dtypes only, never at elements?
bool reads_only_headers(std::string_view builtin);

// To a time; `reached` has a value if it is done.
SkimEnd skim_to(const Run& run, std::uint64_t time, std::optional<Skimmed>& reached);

// As Run::replay_before. Some moments may have been visited though it is refused.
SkimEnd skim_before(const Run& run, std::uint64_t end, const vm::StopSet& stops, const Run::Visit& begun,
                    const Run::Visit& visit, const Run::Visit& ended);

// As Run::search, for visits that look at instructions and frames, not at the contents of tensors: intervals are
// skimmed where they can be. `again`: the window is visited again from its beginning.
Run::Seek search_frames(const Run& run, const vm::StopSet& stops, const Run::Visit& visit,
                        const std::function<void()>& again, const std::function<bool()>& leave);

}  // namespace rldb::debug
