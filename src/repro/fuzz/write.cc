// Programs written for other compilers: the module, its inputs, and the values that rldb computes.
#include <fmt/format.h>

#include "repro/borrow.h"
#include "repro/oracle/leaves.h"
#include "repro/values.h"
#include "rldb/eval/eval.h"
#include "rldb/repro/fuzz.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/support/entry_function.h"
#include "rldb/support/file.h"

namespace rldb::repro {

namespace {

bool add_tensor(runtime::NamedTensors& to, std::string name, const runtime::Value& v) {
  if (!v.is(runtime::ValueKind::Tensor)) return false;
  to.emplace_back(std::move(name), v);
  return true;
}

}  // namespace

WrittenProgram write_program(session::Session& session, const Generated& program, const std::string& stem) {
  const Borrow borrow(session);
  WrittenProgram out;
  const auto inputs = inputs_of(session, program);
  std::vector<runtime::Value> args;
  runtime::NamedTensors in, results;
  for (const auto& [name, value] : inputs) {
    args.push_back(value);
    if (!add_tensor(in, name, value)) return {{}, "a parameter is not a tensor"};
  }
  eval::Watcher nobody;
  source::Diagnostics found;
  const session::RunResult run =
      session.run_watched(program.module, support::kEntryFunction, copies(args), nobody, found);
  if (!run.ok) return {{}, found.all().empty() ? "it does not run" : found.all().front().message};
  std::vector<runtime::Value> leaves;
  flatten(run.value, leaves);
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!add_tensor(results, fmt::format("output{}", i), leaves[i])) return {{}, "a result is not a tensor"};
  const std::pair<std::string, std::string> files[] = {
      {stem + ".py", program.text},
      {stem + ".inputs.npz", runtime::write_npz(in)},
      {stem + ".outputs.npz", runtime::write_npz(results)},
  };
  for (const auto& [path, bytes] : files) {
    if (const auto written = support::write_file(path, bytes, support::Durable::No); !written.ok())
      return {{}, fmt::format("{} cannot be written", path)};
    out.files.push_back(path);
  }
  return out;
}

}  // namespace rldb::repro
