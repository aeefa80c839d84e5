// History: versions of a module.
#include "rldb/pipeline/history.h"

#include <algorithm>

#include "rldb/support/check.h"

namespace rldb::pipeline {

void History::start(ModuleRef module) {
  Record first;
  first.after = module;
  // Created before anything is discarded: a history has a version in full or not at all, even when memory runs out.
  std::vector<Record> records{std::move(first)};
  records_.swap(records);
  bookmarks_.clear();
  position_ = 0;
}

void History::push(Record record) {
  RLDB_CHECK(bool(record.after), "a failed pass has no version");
  const std::size_t kept = records_.empty() ? 0 : position_ + 1;
  if (records_.capacity() <= kept) records_.reserve(2 * kept + 1);
  records_.resize(kept);
  std::erase_if(bookmarks_, [&](const auto& b) { return b.second >= records_.size(); });
  records_.push_back(std::move(record));
  position_ = records_.size() - 1;
}

void History::push_edit(ModuleRef module) {
  Record record;
  record.before = current();
  record.after = module;
  push(std::move(record));
}

bool History::rewind(std::size_t version) {
  if (version >= records_.size()) return false;
  position_ = version;
  return true;
}

}  // namespace rldb::pipeline
