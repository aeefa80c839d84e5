#include "ui/console.h"

#include <cstdio>

namespace rldb::ui {

void Console::diagnose(const source::Diagnostics& diagnostics, const source::SourceManager& sources) {
  source::RenderOptions options;
  options.color = color_;
  error(source::render(diagnostics, sources, options));
}

void TerminalConsole::write(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void TerminalConsole::error(std::string_view text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace rldb::ui
