#include "debug/run/change.h"

#include <fmt/format.h>

#include <algorithm>

namespace rldb::debug {

void Changes::add(Change change) {
  std::erase_if(list_, [&](const Change& c) { return c.time > change.time; });
  list_.push_back(std::move(change));
}

std::optional<vm::Outcome> Changes::apply(vm::Machine& m, std::uint64_t until) const {
  for (const Change& c : list_) {
    if (c.time != m.instructions() || !m.running() || (c.moves && m.instructions() >= until)) continue;
    if (auto ended = c.apply(m)) return ended;
  }
  return std::nullopt;
}

std::string Changes::commands_at(std::uint64_t time) const {
  std::vector<std::string> all;
  for (const Change& c : list_)
    if (c.time == time && !c.moves && !c.said.command.empty()) all.push_back(fmt::format("`{}`", c.said.command));
  if (all.empty()) return {};
  return fmt::format("the command{} {}", all.size() == 1 ? "" : "s", fmt::join(all, ", "));
}

bool Changes::moves_at(std::uint64_t time) const {
  return std::any_of(list_.begin(), list_.end(), [&](const Change& c) { return c.moves && c.time == time; });
}

std::uint64_t Changes::next(std::uint64_t time, std::uint64_t limit) const {
  for (const Change& c : list_)
    if (c.time > time) return std::min(c.time, limit);
  return limit;
}

}  // namespace rldb::debug
