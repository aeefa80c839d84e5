// Objects of a plugin as values: an object that rldb has no kind for, and a function. Room-private.
#pragma once

#include <memory>
#include <string>

#include "rldb/runtime/described.h"
#include "rldb/runtime/value.h"
#include "runtime/ffi/object.h"

namespace rldb::runtime::ffi {

// Of tuples that cross the interface, in both directions.
constexpr int kMaxNesting = 200;

// `library` is released after `handle`: its code deletes the object.
class ForeignObject : public Object, public Described {
 public:
  ForeignObject(std::shared_ptr<const void> library, Handle handle)
      : library_(std::move(library)), handle_(std::move(handle)) {}
  std::string description(std::size_t width) const override;
  TVMFFIObject* object() const { return handle_.get(); }

 private:
  std::shared_ptr<const void> library_;
  Handle handle_;
};

class ForeignFunction : public Function {
 public:
  ForeignFunction(std::string name, PackedFn native, TVMFFIObject* object)
      : Function(std::move(name), std::move(native)), object(object) {}
  TVMFFIObject* const object;  // owned by what `native` captured
};

}  // namespace rldb::runtime::ffi
