#include "session/program/program_file.h"

#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/support/file.h"

namespace rldb::session {

bool read_program_file(const std::string& path, std::string& bytes, source::Diagnostics& out) {
  auto read = support::read_file(path == "-" ? "/dev/stdin" : path, source::kMaxBytes);
  if (read.ok()) {
    bytes = std::move(read).value();
    return true;
  }
  const support::FileError& error = read.error();
  if (error.too_large)
    out.add({}, source::message(diag::FileTooLarge, path, error.size, source::kMaxBytes));
  else
    out.add({}, source::message(diag::FileNotFound, path, error.reason));
  return false;
}

}  // namespace rldb::session
