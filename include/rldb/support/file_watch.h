// FileWatch: tells when a file has been written, by whoever: in place, or by another that took its name (editors do
// both). The kernel reports it (inotify), so that waiting costs nothing. Users: the prompt (`:watch-file`).
#pragma once

#include <memory>
#include <string>

namespace rldb::support {

class FileWatch {
 public:
  // Null: `why` tells the reason.
  static std::unique_ptr<FileWatch> start(const std::string& path, std::string& why);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  const std::string& path() const { return path_; }
  // Readable when something happened in the file's folder; `written` empties it.
  int descriptor() const { return descriptor_; }
  // Has the file been written, and closed, since the last call?
  bool written();

 private:
  FileWatch(std::string path, int descriptor);
  std::string path_, name_;
  int descriptor_;
};

}  // namespace rldb::support
