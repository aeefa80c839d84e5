// SelfStopping: an instrumented kernel with its machine code; runs a call up to a moment and reports the place.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "debug/kernel/instrument.h"
#include "rldb/session/aside.h"

namespace rldb::debug {

// A range of moments in a call, in steps of the evaluator.
struct Window {
  std::optional<std::uint64_t> stop_at;
  std::optional<std::uint64_t> after;   // arrivals count when more steps than this were made
  std::optional<std::uint64_t> before;  // and fewer than this
};

// The result of a search.
struct Arrivals {
  std::uint64_t hits = 0;
  std::optional<std::uint64_t> last;  // steps of the last one
};

class SelfStopping {
 public:
  // The function that the code calls to ask.
  static void register_in(runtime::PackedRegistry& registry);
  static support::Result<std::unique_ptr<SelfStopping>, std::string> make(ir::Context& ctx,
                                                                          session::AsideCompiler& compiler,
                                                                          const ir::PrimFunc* f, std::string_view name,
                                                                          std::span<const Probe> probes);
  struct Outcome {
    std::optional<eval::TirPlace> place;  // where it stopped; none: the kernel finished
    std::vector<Arrivals> groups;
  };
  // Whether a probe that asks holds at a place; may throw. Nullopt: that cannot be told, and the run is given up.
  using Ask = std::function<std::optional<bool>(std::size_t probe, const eval::TirPlace& place)>;
  // On the tensors of `args`, from the beginning of the call. `pass`: for each group, the number of arrivals to pass
  // before it stops; groups without one never stop. Errors: those of the kernel; Unsupported, given up.
  runtime::Result<Outcome> run(std::span<const runtime::Value> args, const Window& window,
                               std::span<const std::optional<std::uint64_t>> pass, const Ask& ask = {});

 private:
  SelfStopping(Instrumented made, const ir::PrimFunc* f, std::shared_ptr<runtime::Kernel> kernel,
               std::span<const Probe> probes);
  class Call;
  runtime::Result<std::vector<runtime::Value>> memory(std::span<const runtime::Value> args) const;

  Instrumented made_;
  const ir::PrimFunc* f_;
  std::shared_ptr<runtime::Kernel> kernel_;
  std::vector<std::size_t> group_of_;  // by probe
  std::size_t groups_ = 0;
};

}  // namespace rldb::debug
