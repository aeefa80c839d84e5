// Attributes of the calls that solvers make. Room-private.
#pragma once

#include "repro/fuzz/maker.h"

namespace rldb::repro {

// Only those that the operator has.
class Attributes {
 public:
  Attributes(Maker& m, const ops::OpInfo& op) : m_(m), op_(op) {}

  Attributes& add(std::string_view name, const ir::Attr* value) {
    for (const ops::AttrInfo& a : op_.attrs)
      if (a.name == name) all_.push_back(m_.ctx.named(name, value));
    return *this;
  }
  template <class T>
  Attributes& add(std::string_view name, T value) {
    return add(name, m_.ctx.attr(value));
  }
  Attributes& add(std::string_view name, const std::vector<std::int64_t>& value) {
    return add(name, m_.ctx.attr_ints(value));
  }
  Attributes& none(std::string_view name) { return add(name, m_.ctx.attr_none()); }
  operator std::vector<ir::NamedAttr>() const { return all_; }

 private:
  Maker& m_;
  const ops::OpInfo& op_;
  std::vector<ir::NamedAttr> all_;
};

}  // namespace rldb::repro
