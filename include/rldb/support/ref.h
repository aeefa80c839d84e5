// Ref<T>: an intrusive reference-counted pointer, for run-time objects (tensors, tuples, closures).
//
// The count is not atomic: the machine is single-threaded by design (time is (run, instruction index)), and a copy
// of a register must cost one increment. T derives from RefCounted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rldb::support {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) : count_(0) {}
  RefCounted& operator=(const RefCounted&) { return *this; }
  virtual ~RefCounted() = default;

  void retain() const { ++count_; }
  void release() const {
    if (--count_ == 0) delete this;
  }
  // Number of Refs that hold this object: 1 means that it may be mutated in place.
  std::uint32_t use_count() const { return count_; }

 private:
  mutable std::uint32_t count_ = 0;
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  template <class U>
  Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args&&... args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace rldb::support
