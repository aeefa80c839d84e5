// Start-up files: where they are, and which of them are read.
#include "ui/prompt/start_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

#include "rldb/source/diagnostic_entry.h"
#include "rldb/support/file.h"
#include "rldb/support/hash.h"
#include "rldb/ui/command_line/cache_folder.h"
#include "rldb/ui/prompt/state.h"

namespace rldb::ui {

namespace {

constexpr std::size_t kMostBytes = std::size_t(1) << 20;
constexpr const char* kProjectFile = ".rldbrc";

std::string home_file(const char* name) {
  const std::string home = support::home_folder();
  return home.empty() ? home : home + "/" + name;
}

// The text of a file that only this user may write; empty: there is none.
std::string text_of(const std::string& path) {
  if (path.empty()) return {};
  auto text = support::read_own_file(path, kMostBytes);
  return text.ok() ? std::move(text).value() : std::string();
}

std::string trusted_line(const std::string& text) {
  char folder[PATH_MAX];
  if (!::getcwd(folder, sizeof folder)) return {};
  return fmt::format("{:016x} {}/{}\n", support::fnv1a(text), folder, kProjectFile);
}

bool write_private(const std::string& path, const std::string& text, std::string& why) {
  if (path.empty()) {
    why = "there is no folder for settings: HOME is not set";
    return false;
  }
  if (!make_folders(path.substr(0, path.rfind('/')))) {
    why = fmt::format("the folder of `{}` cannot be made", path);
    return false;
  }
  const auto written = support::write_file(path, text);
  if (written.ok()) return true;
  why = fmt::format("`{}`: {}", path, written.error().reason);
  return false;
}

void source(Repl& repl, const std::string& path) {
  if (path.empty() || !support::file_exists(path)) return;
  repl.on_command_line = true;
  repl.execute(":source " + path);
  repl.on_command_line = false;
}

}  // namespace

std::string config_file(std::string_view name) {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config && *config == '/') return fmt::format("{}/rldb/{}", config, name);
  const std::string home = home_file(".config/rldb/");
  return home.empty() ? home : home + std::string(name);
}

void read_start_files(Repl& repl) {
  source(repl, config_file("settings"));
  source(repl, config_file("init"));
  source(repl, home_file(".rldbinit"));
  if (!support::file_exists(kProjectFile)) return;
  const std::string line = trusted_line(text_of(kProjectFile));
  if (!line.empty() && !text_of(kProjectFile).empty() &&
      ("\n" + text_of(config_file("trusted"))).find("\n" + line) != std::string::npos)
    return source(repl, kProjectFile);
  source::Diagnostics d;
  d.add({}, source::message(diag::RcNotTrusted, kProjectFile));
  repl.console().diagnose(d, {});
}

bool save_setting(std::string_view name, std::string_view value, std::string& why) {
  const std::string path = config_file("settings"), mine = fmt::format(":set {} ", name);
  const std::string old = text_of(path);
  std::string text;
  for (std::size_t at = 0; at < old.size();) {
    const std::size_t end = std::min(old.find('\n', at), old.size() - 1) + 1;
    if (old.compare(at, mine.size(), mine) != 0) text += old.substr(at, end - at);
    at = end;
  }
  return write_private(path, text + mine + std::string(value) + "\n", why);
}

bool trust_folder(std::string& trusted, std::string& why) {
  if (!support::file_exists(kProjectFile)) {
    why = fmt::format("there is no `{}` in this folder", kProjectFile);
    return false;
  }
  trusted = kProjectFile;
  const std::string path = config_file("trusted");
  return write_private(path, text_of(path) + trusted_line(text_of(kProjectFile)), why);
}

}  // namespace rldb::ui
