// CHECK: an internal invariant, on in release builds too. A failed CHECK is a bug in rldb, never a user error:
// it throws InternalError, which main() turns into a reproducer file and exit code 4 (docs/ui.md).
#pragma once

#include <stdexcept>
#include <string>

namespace rldb::support {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& detail);

}  // namespace rldb::support

#define RLDB_CHECK(cond, detail) ((cond) ? void(0) : ::rldb::support::check_failed(__FILE__, __LINE__, #cond, (detail)))
#define RLDB_UNREACHABLE(detail) ::rldb::support::check_failed(__FILE__, __LINE__, "unreachable", (detail))
