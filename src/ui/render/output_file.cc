#include "rldb/ui/render/output_file.h"

#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"

namespace rldb::ui {

bool write_output(const std::string& path, std::string_view text, Console& console) {
  if (path.empty() || path == "-") {
    console.write(text);
    return true;
  }
  auto written = support::write_file(path, text);
  if (written.ok()) return true;
  source::Diagnostics diagnostics;
  diagnostics.add({}, source::message(diag::FileNotWritten, path, written.error().reason));
  console.diagnose(diagnostics, {});
  return false;
}

}  // namespace rldb::ui
