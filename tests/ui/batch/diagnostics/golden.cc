#include "ui/batch/diagnostics/golden.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "golden/golden.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/session/session.h"
#include "rldb/ui/batch/batch.h"
#include "rldb/ui/batch/handlers.h"

namespace rldb::diagnostics_test {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMark = "#|";

std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '\\' || next == '\0') {
      out += text[i];
      continue;
    }
    ++i;
    switch (next) {
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'n':
        out += '\n';
        break;
      case '\n':
        break;
      case 'x':
        out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
        i += 2;
        break;
      default:
        out += next;
        break;
    }
  }
  return out;
}

// Makes bytes visible that a text file should not contain.
std::string visible(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

// The program in a separate folder, under the name that the expectations use.
class Folder {
 public:
  explicit Folder(const std::string& program) : before_(fs::current_path()) {
    std::string name = (fs::temp_directory_path() / "rldb-golden-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw fs::filesystem_error("mkdtemp", std::error_code());
    folder_ = name;
    fs::current_path(folder_);
    std::ofstream("case.py", std::ios::binary) << program;
  }
  ~Folder() {
    fs::current_path(before_);
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  fs::path before_, folder_;
};

std::string check_json(const Golden& golden) {
  const Folder folder(golden.program);
  const char* argv[] = {"rldb", "check", "--format=json", "case.py"};
  int code = 0;
  const auto line = ui::parse_command_line(4, const_cast<char**>(argv), code);
  ui::CapturedConsole console;
  ui::batch_check(*line, console);
  return console.take();
}

}  // namespace

std::vector<fs::path> golden_files() {
  std::vector<fs::path> files = golden::files_of("diagnostics");
  std::erase_if(files, [](const fs::path& file) { return file.parent_path().filename() == "diagnostics"; });
  return files;
}

Golden read_golden(const fs::path& path) {
  Golden g;
  g.path = path;
  g.name = fs::relative(path, fs::path(RLDB_SOURCE_DIR) / "tests/diagnostics").string();
  g.whole = golden::read(path);
  std::istringstream lines(g.whole);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kMark)) {
      line.erase(0, kMark.size());
      if (line.starts_with(' ')) line.erase(0, 1);
      g.expected += line + "\n";
    } else if (g.expected.empty()) {
      g.text += line + "\n";
    }
  }
  std::istringstream header(g.text.substr(0, g.text.find('\n')));
  std::string word;
  bool escaped = false;
  header >> word >> word;
  if (word == "RUN:") {
    while (header >> word) {
      g.json = g.json || word == "--format=json";
      g.color = g.color || word == "--color";
      escaped = escaped || word == "--text=escaped";
      if (word.starts_with("--width=")) g.width = std::stoul(word.substr(8));
    }
  }
  g.program = escaped ? unescape(g.text) : g.text;
  return g;
}

std::string check(const Golden& golden, std::vector<source::DiagId>& kinds) {
  session::Session session;
  source::Diagnostics found;
  if (frontend::looks_like_relay(golden.program)) {
    relay::Context ctx;
    const source::FileId file = session.sources().add("case.relay", golden.program);
    const auto parsed = frontend::parse_relay(ctx, session.sources(), file, found);
    relay::Typing typing;
    if (parsed.module && !parsed.module->functions.empty()) relay::infer_types(ctx, parsed.module, typing, found);
  } else {
    session.load_text("case.py", golden.program, found);
  }
  for (const source::Diagnostic& d : found.all()) kinds.push_back(d.id);
  if (golden.json) return visible(check_json(golden));
  source::RenderOptions options;
  options.color = golden.color;
  if (golden.width != 0) options.max_line_width = golden.width;
  const std::string said = source::render(found, session.sources(), options);
  return visible(said.empty() ? "nothing is wrong\n" : said);
}

std::string with_expectation(const Golden& golden, const std::string& found) {
  std::string text = golden.text;
  std::istringstream lines(found);
  for (std::string line; std::getline(lines, line);)
    text += fmt::format("{}{}{}\n", kMark, line.empty() ? "" : " ", line);
  return text;
}

}  // namespace rldb::diagnostics_test
