#include "rldb/support/progress.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace rldb::support {

namespace {

std::mutex g_mutex;
std::vector<std::pair<std::uint64_t, std::string>> g_doing;  // innermost last; two threads may be working
std::uint64_t g_next = 0;

}  // namespace

Doing::Doing(std::string what) {
  const std::lock_guard lock(g_mutex);
  number_ = ++g_next;
  g_doing.emplace_back(number_, std::move(what));
}

Doing::~Doing() {
  const std::lock_guard lock(g_mutex);
  std::erase_if(g_doing, [&](const auto& d) { return d.first == number_; });
}

std::string doing_now() {
  const std::lock_guard lock(g_mutex);
  return g_doing.empty() ? std::string() : g_doing.back().second;
}

}  // namespace rldb::support
