// CUDA graphs on a CPU: nothing is captured, and each call is made when requested.
#include <fmt/format.h>

#include "rldb/runtime/contrib.h"

namespace rldb::runtime {

namespace {

// The machine passes itself as the first argument, which reads as null.
PackedArgs without_machine(PackedArgs args) { return !args.empty() && args[0].is_null() ? args.subspan(1) : args; }

Result<Value> call(const Value& callee, std::vector<Value> args) {
  if (!callee.is(ValueKind::Function) || !callee.as_function().native)
    return fail(ErrorKind::TypeMismatch, fmt::format("{} cannot be called here", describe(callee)));
  const Function& f = callee.as_function();
  args.insert(args.end(), f.captured.begin(), f.captured.end());
  return f.native(args);
}

}  // namespace

Result<Value> cuda_graph_run(PackedArgs args) {
  args = without_machine(args);
  if (args.size() < 3 || args.size() > 4 || !args[1].is(ValueKind::Tuple))
    return fail(ErrorKind::TypeMismatch, "expected a function, a tuple of its arguments, and an index");
  return call(args[0], args[1].as_tuple().fields);
}

Result<Value> cuda_graph_alloc(PackedArgs args) {
  args = without_machine(args);
  if (args.size() != 2) return fail(ErrorKind::TypeMismatch, "expected a function and an index");
  return call(args[0], {});
}

}  // namespace rldb::runtime
