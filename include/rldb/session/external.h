// Functions outside the program: the run-time form of external modules (passes/external_module.h).
//
// A runtime turns an external module into packed functions; a session uses the one that is registered for its kind. The
// runtime of `json` runs the graph's nodes one by one, each as its operator, through `rldb.call_operator`.
// Users: session, debug, and programs that build on rldb.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/passes/external_module.h"
#include "rldb/runtime/kernel.h"
#include "rldb/runtime/packed.h"

namespace rldb::session {

struct ExternalPacked {
  std::string symbol;
  runtime::PackedFn run;  // the arguments, then the tensors for the results
};
// `functions`: those of the session; it outlives the result.
using ExternalRuntime = runtime::Result<std::vector<ExternalPacked>> (*)(const ir::Attr* module,
                                                                         const runtime::PackedRegistry& functions);
// For external modules of that kind; a kind that has a runtime already fails a CHECK. The text must live as long as the
// program.
void register_external_runtime(std::string_view kind, ExternalRuntime runtime);

// A graph that can be run. Values are by node, then by output.
class GraphFunction {
 public:
  using NodeValues = std::vector<std::vector<runtime::Value>>;
  static runtime::Result<GraphFunction> make(passes::ExternalGraph graph, const runtime::PackedRegistry& functions);

  const passes::ExternalGraph& graph() const { return graph_; }
  // The results of every node; `args` may continue with the tensors for the results, which are not written to.
  runtime::Result<NodeValues> all_values(runtime::PackedArgs args) const;
  runtime::Result<runtime::Value> call(runtime::PackedArgs args) const;

 private:
  GraphFunction() = default;
  // The values of the graph's dims. `all`: the arguments continue with the tensors for the results.
  runtime::Result<std::vector<std::int64_t>> bind(runtime::PackedArgs args, bool all) const;
  runtime::Result<NodeValues> run(runtime::PackedArgs inputs, const std::vector<std::int64_t>& dims, bool keep) const;
  runtime::Result<std::vector<runtime::Value>> run_kernel(std::size_t node, const NodeValues& values,
                                                          const std::vector<std::int64_t>& dims) const;

  passes::ExternalGraph graph_;
  runtime::KernelSignature inputs_;    // tensors
  runtime::KernelSignature all_;       // the same, then outputs
  std::vector<std::size_t> last_use_;  // by node: the kernel that reads it last; none: a result of the graph, or unused
  runtime::Ref<runtime::Function> call_operator_;
};

}  // namespace rldb::session
