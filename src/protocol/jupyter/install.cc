#include "protocol/jupyter/install.h"

#include <cstdlib>

#include "protocol/json_rpc.h"
#include "rldb/support/file.h"

namespace rldb::protocol::jupyter {

namespace {

constexpr const char* kKernels = "/kernels/rldb";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// As Jupyter looks for it.
std::string user_folder() {
  if (const std::string data = variable("JUPYTER_DATA_DIR"); !data.empty()) return data;
  if (const std::string data = variable("XDG_DATA_HOME"); !data.empty()) return data + "/jupyter";
  const std::string home = support::home_folder();
  return home.empty() ? home : home + "/.local/share/jupyter";
}

}  // namespace

std::string spec_folder(const std::string& prefix) {
  if (!prefix.empty()) return prefix + "/share/jupyter" + kKernels;
  const std::string folder = user_folder();
  return folder.empty() ? folder : folder + kKernels;
}

std::string spec_text(const std::string& program) {
  const Json spec{{"argv", {program, "jupyter", "{connection_file}"}},
                  {"display_name", "Relax (rldb)"},
                  {"language", "tvmscript"},
                  {"interrupt_mode", "message"},
                  {"metadata", {{"debugger", false}}}};
  return spec.dump(2) + "\n";
}

}  // namespace rldb::protocol::jupyter
