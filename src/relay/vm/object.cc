// Values of data types, and values as text. Without recursion: a list is as deep as it is long.
#include "rldb/relay/vm/object.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/support/memory.h"

namespace rldb::relay_vm {

using runtime::ValueKind;

namespace {

// Releases values, part by part where there are no other holders: a program nests tuples and closures as deep as its
// loops are long.
void drain(std::vector<Value> values) {
  const auto is_last = [](const Value& v) {
    return (v.is(ValueKind::Tuple) || v.is(ValueKind::Function)) && v.object()->use_count() == 1;
  };
  if (std::none_of(values.begin(), values.end(), is_last)) return;
  const support::MemoryLimitExempt exempt;  // a destructor may not fail
  while (!values.empty()) {
    const Value v = std::move(values.back());
    values.pop_back();
    if (!is_last(v)) continue;
    std::vector<Value>& parts = v.is(ValueKind::Tuple) ? v.as_tuple().fields : v.as_function().captured;
    for (Value& part : parts)
      if (is_last(part)) values.push_back(std::move(part));
    parts.clear();
  }
}

}  // namespace

Adt::~Adt() { drain(std::move(fields)); }

Closure::Closure(std::string name, int function, std::vector<Value> values) : Function(std::move(name), function) {
  captured = std::move(values);
}

Closure::~Closure() { drain(std::move(captured)); }

Value make_adt(std::int32_t tag, std::vector<Value> fields, std::shared_ptr<const Constructors> constructors) {
  return Value(support::Ref<runtime::Tuple>(support::make_ref<Adt>(tag, std::move(fields), std::move(constructors))));
}

std::optional<std::int32_t> tag_of(const Value& v) {
  if (!v.is(ValueKind::Tuple)) return std::nullopt;
  const auto* adt = dynamic_cast<const Adt*>(v.object());
  return adt ? adt->tag : 0;
}

std::int32_t constructor_tag(std::string_view type_name, std::uint32_t index) {
  const std::uint32_t low = std::uint32_t(std::hash<std::string_view>{}(type_name)) & 0xFF;
  return std::int32_t(low << 24 | index);
}

namespace {

// Writes values from a stack of the texts and values still to be written.
class Formatter {
 public:
  explicit Formatter(const Constructors* constructors, std::size_t width = std::string::npos)
      : constructors_(constructors), width_(width) {}

  std::string run(const Value& v) {
    open_.push_back({v, ""});
    while (!open_.empty()) {
      support::poll();
      if (out_.size() > width_) return out_ + "...";
      const Item item = std::move(open_.back());
      open_.pop_back();
      if (item.value.is_null()) {
        out_ += item.text;
      } else if (item.value.is(ValueKind::Tuple)) {
        write_fields(item.value);
      } else if (item.value.is(ValueKind::Function)) {
        out_ += fmt::format("<closure {}>", item.value.as_function().name);
      } else {
        out_ += item.text == kBrief ? part_text(item.value) : runtime::format_value(item.value);
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr const char* kBrief = "brief";
  struct Item {
    Value value;
    std::string text;
  };

  // For a scalar inside another value its number is enough.
  static std::string part_text(const Value& v) {
    if (!v.is(ValueKind::Tensor) || v.as_tensor().ndim() > 0 || v.as_tensor().dtype().lanes != 1)
      return runtime::format_brief(v);
    const runtime::Tensor& t = v.as_tensor();
    if (t.dtype().is_bool()) return t.at(0) != 0 ? "True" : "False";
    if (t.dtype().is_integral()) return fmt::format("{}", runtime::load_as_int(t.peek(), t.dtype()));
    return fmt::format("{:.8g}", t.at(0));
  }

  const relay_bytecode::ConstructorName* constructor(const Value& v) const {
    const std::int32_t tag = tag_of(v).value_or(0);
    if (!constructors_ || tag == 0) return nullptr;
    const auto found = constructors_->find(tag);
    return found == constructors_->end() ? nullptr : &found->second;
  }

  bool is_cell(const Value& v) const {
    const auto* c = constructor(v);
    return c && c->type_name == "List" && v.as_tuple().fields.size() == 2;
  }
  bool is_list(const Value& v) const {
    const auto* c = constructor(v);
    return c && c->type_name == "List";
  }

  // In reverse, so that the first is on top.
  void push_all(const std::vector<Value>& values, const std::string& end) {
    open_.push_back({Value(), end});
    for (std::size_t i = values.size(); i-- > 0;) {
      if (values[i].is_null())
        open_.push_back({Value(), "null"});
      else
        open_.push_back({values[i], kBrief});
      if (i > 0) open_.push_back({Value(), ", "});
    }
  }

  void write_fields(const Value& v) {
    if (is_list(v)) return write_list(v);
    const std::vector<Value>& fields = v.as_tuple().fields;
    const std::int32_t tag = tag_of(v).value_or(0);
    if (tag == 0) {
      out_ += "(";
      return push_all(fields, fields.size() == 1 ? ",)" : ")");
    }
    if (const auto* c = constructor(v)) {
      out_ += c->name;
      if (fields.empty()) return;
      out_ += "(";
    } else {
      out_ += fmt::format("ADT({}{}", tag, fields.empty() ? "" : ", ");
    }
    push_all(fields, ")");
  }

  void write_list(const Value& v) {
    std::vector<Value> elements;
    Value at = v;
    for (; at.is(ValueKind::Tuple) && is_cell(at); at = Value(at.as_tuple().fields[1])) {
      support::poll();
      elements.push_back(at.as_tuple().fields[0]);
      if (elements.size() > width_) break;
    }
    out_ += "[";
    push_all(elements, "]");
  }

  const Constructors* constructors_;
  std::size_t width_;
  std::vector<Item> open_;
  std::string out_;
};

}  // namespace

std::string to_text(const Value& v, const relay_bytecode::Executable* exe) {
  return Formatter(exe ? &exe->constructors : nullptr).run(v);
}

std::string Adt::description(std::size_t width) const {
  if (tag == 0) return {};
  return Formatter(constructors.get(), width).run(Value(support::Ref<runtime::Tuple>(const_cast<Adt*>(this))));
}

}  // namespace rldb::relay_vm
