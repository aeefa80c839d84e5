#include "rldb/support/check.h"

namespace rldb::support {

void check_failed(const char* file, int line, const char* condition, const std::string& detail) {
  throw InternalError(std::string(file) + ":" + std::to_string(line) + ": check failed: " + condition +
                      (detail.empty() ? "" : ": " + detail));
}

}  // namespace rldb::support
