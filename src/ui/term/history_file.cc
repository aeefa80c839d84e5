#include "ui/term/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "rldb/support/file.h"

namespace rldb::ui {

std::vector<std::string> read_history_file(const std::string& path) {
  std::vector<std::string> entries;
  auto text = support::read_file(path, std::size_t(64) << 20);
  if (!text.ok()) return entries;
  std::string entry;
  for (std::size_t i = 0; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '\n') {
      if (!entry.empty()) entries.push_back(std::move(entry));
      entry.clear();
    } else if (c == '\\' && i + 1 < text->size()) {
      const char next = (*text)[++i];
      entry += next == 'n' ? '\n' : next;
    } else {
      entry += c;
    }
  }
  if (entries.size() > kMaxHistory) entries.erase(entries.begin(), entries.end() - kMaxHistory);
  return entries;
}

void append_history_file(const std::string& path, const std::string& entry) {
  if (path.empty()) return;
  std::string line;
  for (const char c : entry) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\\')
      line += "\\\\";
    else
      line += c;
  }
  line += '\n';
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (::write(fd, line.data(), line.size()) < 0) { /* the history is lost, nothing else */
  }
  ::close(fd);
}

}  // namespace rldb::ui
