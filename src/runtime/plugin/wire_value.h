// Values as bytes between a session and the guard process of a plugin. Room-private.
//
// Tensors of arguments lie in shared memory (ranges); new tensors of a result are in the message. An object or function
// of the plugin stays in the guard: here there is a number for it, which is good for that guard alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rldb/runtime/described.h"
#include "rldb/runtime/value.h"
#include "runtime/plugin/guard_process.h"
#include "runtime/plugin/wire.h"

namespace rldb::runtime {

// The objects of one guard that are known here. It tells the guard which of them nobody refers to any more.
struct GuardObjects {
  std::uint64_t generation = 0;  // of the guard: a new process has none of the old one's objects
  std::vector<std::uint64_t> released;
};

// An object that is in a guard.
class KeptObject : public Object, public Described {
 public:
  KeptObject(std::shared_ptr<GuardObjects> of, std::uint64_t id, std::string text)
      : of_(std::move(of)), generation_(of_->generation), id_(id), text_(std::move(text)) {}
  ~KeptObject() override {
    if (generation_ == of_->generation) of_->released.push_back(id_);
  }
  std::string description(std::size_t) const override { return text_; }
  bool alive(const GuardObjects& of) const { return of_.get() == &of && generation_ == of.generation; }
  std::uint64_t id() const { return id_; }

 private:
  std::shared_ptr<GuardObjects> of_;
  std::uint64_t generation_;
  std::uint64_t id_;
  std::string text_;
};

// ---- in the session ----

// Empty, or why the value cannot be sent.
std::string put_argument(WireWriter& out, const Value& v, const SharedRanges& ranges, const GuardObjects& objects);
struct ResultReader {
  const SharedRanges& ranges;
  std::shared_ptr<GuardObjects> objects;
  // Makes the function that calls that object of the guard.
  std::function<Value(Ref<KeptObject>, const std::string& name)> function;
  Value read(WireReader& in, int depth = 0) const;
};

// ---- in the guard ----

// Values that the session may ask for again.
class GuardStore {
 public:
  std::uint64_t keep(const Value& v);
  const Value* find(std::uint64_t id) const { return id < kept_.size() && !kept_[id].is_null() ? &kept_[id] : nullptr; }
  void drop(std::uint64_t id) {
    if (id < kept_.size()) kept_[id] = Value();
  }

 private:
  std::vector<Value> kept_;
};

Value get_argument(WireReader& in, const std::vector<Ref<Storage>>& storages, const GuardStore& store, int depth = 0);
std::string put_result(WireWriter& out, const Value& v, const std::vector<Ref<Storage>>& storages, GuardStore& store);

}  // namespace rldb::runtime
