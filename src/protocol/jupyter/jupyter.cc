// rldb jupyter install: the kernel specification; rldb jupyter FILE: the kernel, as Jupyter starts it.
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "protocol/jupyter/install.h"
#include "protocol/jupyter/server.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/file.h"
#include "rldb/ui/batch/handlers.h"
#include "rldb/ui/render/output_file.h"
#include "rldb/ui/terminal/exit_code.h"
#include "rldb/ui/terminal/guarded.h"

namespace rldb::ui {

namespace {

using namespace protocol::jupyter;

constexpr std::string_view kInstall = "install";
constexpr std::size_t kMaxConnectionBytes = std::size_t(1) << 20;

int refuse_jupyter(Console& console, int code, std::string text) {
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::BadArgument, std::move(text)));
  console.diagnose(diagnostics, {});
  return code;
}

int install_kernel(const CommandLine& line, Console& console) {
  const std::string folder = spec_folder(line.jupyter.prefix);
  if (folder.empty()) return refuse_jupyter(console, kFailed, "there is no home folder: --prefix=DIR names another");
  std::error_code wrong;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", wrong);
  if (!wrong) std::filesystem::create_directories(folder, wrong);
  if (wrong) return refuse_jupyter(console, kFailed, fmt::format("{}: {}", folder, wrong.message()));
  const std::string file = folder + "/kernel.json";
  if (!write_output(file, spec_text(program), console)) return kFailed;
  console.print("wrote {}\n", file);
  return kGood;
}

}  // namespace

int serve_jupyter(const CommandLine& line, Console& console) {
  if (line.files[0] == kInstall) return install_kernel(line, console);
  const auto text = support::read_file(line.files[0], kMaxConnectionBytes);
  if (!text.ok()) return refuse_jupyter(console, kUsage, fmt::format("{}: {}", line.files[0], text.error().reason));
  const auto connection = connection_of(*text);
  if (!connection.ok())
    return refuse_jupyter(console, kUsage,
                          fmt::format("{} is not a connection file of Jupyter: {}", line.files[0], connection.error()));
  std::string why;
  const ZmqLibrary* zmq = ZmqLibrary::open(why);
  if (!zmq) return refuse_jupyter(console, kFailed, "ZeroMQ, by which a kernel is reached, cannot be opened: " + why);
  install_interrupt(/*second_ends=*/false);  // ^C interrupts the cell
  Server server(*zmq, *connection);
  if (why = server.bind(); !why.empty()) return refuse_jupyter(console, kFailed, why);
  server.serve(line);
  return kGood;
}

}  // namespace rldb::ui
