#include "ui/prompt/example_file.h"

#include <filesystem>

#include "rldb/support/file.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

std::string example_file(Repl& repl, std::string_view path) {
  constexpr std::string_view kExamples = "docs/examples/";
  std::string given(path);
  if (!path.starts_with(kExamples) || support::file_exists(given)) return given;
  std::error_code wrong;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", wrong);
  if (wrong) return given;
  const std::filesystem::path above = program.parent_path().parent_path();
  for (const std::filesystem::path& folder : {above / "share/doc/rldb/examples", above / kExamples}) {
    std::string found = (folder / path.substr(kExamples.size())).lexically_normal();
    if (!support::file_exists(found)) continue;
    repl.print("note: {} is the example {}\n", path, found);
    return found;
  }
  return given;
}

}  // namespace rldb::ui
