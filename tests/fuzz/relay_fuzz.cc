// Fuzz target: Relay text, and executables of the Relay VM. Text that parses must print as text that parses; programs
// that compile or load are run and stepped like any other.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fuzz/executable_input.h"
#include "fuzz/mutate.h"
#include "fuzz/text_input.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/vm/executable.h"
#include "rldb/support/cancel.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".relay", ".rly", ".ro"};

namespace {

// Empty, or the problem.
std::string read_relay(const std::string& text) {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  const frontend::RelayResult read = frontend::parse_relay(ctx, sources, sources.add("text", text), found);
  if (std::string wrong = check_spans(found, sources); !wrong.empty()) return wrong;
  if (!read.module) return {};
  const std::string printed = relay::print(read.module);
  source::Diagnostics again;
  if (!frontend::parse_relay(ctx, sources, sources.add("printed", printed), again).module)
    return "cannot be read:\n" + printed + source::render(again, sources);
  relay::Typing typing;
  relay::infer_types(ctx, read.module, typing, found);
  return check_spans(found, sources);
}

}  // namespace

std::string run_one(const std::string& input) {
  const bool executable = relay_bytecode::is_executable_file(input);
  support::clear_cancel();
  const auto path =
      std::filesystem::temp_directory_path() / fmt::format("rldb_fuzz_{}.{}", ::getpid(), executable ? "ro" : "relay");
  std::string bug;
  try {
    if (!executable) bug = read_relay(input);
    if (bug.empty()) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << input;
      Reached reached;
      bug = look_at(reached, path.string(), "main", ":set machine relay");
    }
  } catch (const support::Cancelled&) {
    // An alarm from the fuzzer, which uses the same signal.
  }
  std::filesystem::remove(path);
  return bug;
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  return relay_bytecode::is_executable_file(input) ? mutate_bytes(input, pool, rng) : mutate_text(input, pool, rng);
}

}  // namespace rldb::fuzz
