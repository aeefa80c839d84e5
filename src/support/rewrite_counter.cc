#include "rldb/support/rewrite_counter.h"

namespace rldb::support {

RewriteCounter* RewriteCounter::current_ = nullptr;

RewriteCounter::RewriteCounter(std::int64_t limit) : outer_(current_), limit_(limit) { current_ = this; }

RewriteCounter::~RewriteCounter() { current_ = outer_; }

bool RewriteCounter::next(std::string what) {
  ++asked_;
  if (limit_ >= 0 && asked_ > limit_) return false;
  last_ = std::move(what);
  return true;
}

}  // namespace rldb::support
