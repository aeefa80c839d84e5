// History: versions of a module. Version 0 is the program as loaded.
#include "passes/common.h"

namespace rldb::passes {

void History::start(const ir::Module* module) {
  PassRecord first;
  first.after = module;
  // Created before anything is discarded: a history has a version in full or not at all, even when memory runs out.
  std::vector<PassRecord> records{first};
  std::vector<bool> edits{true};
  records_.swap(records);
  edits_.swap(edits);
  bookmarks_.clear();
  position_ = 0;
}

void History::push(PassRecord record) {
  RLDB_CHECK(record.after != nullptr, "a failed pass has no version");
  const std::size_t kept = records_.empty() ? 0 : position_ + 1;
  if (records_.capacity() <= kept) records_.reserve(2 * kept + 1);
  if (edits_.capacity() <= kept) edits_.reserve(2 * kept + 1);
  records_.resize(kept);
  edits_.resize(records_.size());
  std::erase_if(bookmarks_, [&](const auto& b) { return b.second >= records_.size(); });
  records_.push_back(std::move(record));
  edits_.push_back(false);
  position_ = records_.size() - 1;
}

void History::push_edit(const ir::Module* module) {
  PassRecord record;
  record.before = current();
  record.after = module;
  push(std::move(record));
  edits_.back() = true;
}

const ir::Module* History::current() const { return records_.empty() ? nullptr : records_[position_].after; }

bool History::rewind(std::size_t version) {
  if (version >= records_.size()) return false;
  position_ = version;
  return true;
}

}  // namespace rldb::passes
