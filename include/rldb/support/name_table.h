// NameTable<T>: rows by their names, in the order in which the names came. A copy shares all rows and costs the same
// however many there are; a change of one of two copies costs the logarithm of their number and leaves the other as it
// was. So the state before a step can be kept, and gone back to, at each step.
//
// A treap whose nodes never change: a change copies the path to its row. A row's priority is a hash of the number of
// its name's coming, which no text can choose: paths are short whatever the names are. Copies belong to one thread.
// T has a `name`, or points to something that has. Users: session (values and symbolic variables of the prompt).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rldb/support/ref.h"

namespace rldb::support {

template <class T>
class NameTable {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Null: there is none. Valid as long as this table is not changed.
  const T* find(std::string_view name) const {
    const Node* at = root_.get();
    while (at) {
      const std::string_view here = name_of(at->row->value);
      if (name == here) return &at->row->value;
      at = (name < here ? at->left : at->right).get();
    }
    return nullptr;
  }

  // A row of that name is replaced, and keeps its place in the order.
  void put(T value) {
    const T* known = find(name_of(value));
    const std::uint64_t order = known ? order_of(name_of(value)) : next_order_;
    root_ = with(root_, make_ref<Row>(std::move(value), order));
    if (known) return;
    ++next_order_;
    ++size_;
  }

  void erase(std::string_view name) {
    if (!find(name)) return;
    root_ = without(root_, name);
    --size_;
  }

  using Rows = std::vector<std::reference_wrapper<const T>>;
  // All rows, in the order in which their names came. Valid as long as this table is not changed.
  Rows in_order() const { return sorted({}); }
  // The same of those whose names begin so.
  Rows starting_with(std::string_view prefix) const { return sorted(prefix); }

 private:
  struct Row : RefCounted {
    Row(T v, std::uint64_t o) : value(std::move(v)), order(o) {}
    T value;
    std::uint64_t order;
  };
  struct Node;
  using Link = Ref<const Node>;
  struct Node : RefCounted {
    Node(Ref<Row> r, Link a, Link b) : row(std::move(r)), left(std::move(a)), right(std::move(b)) {}
    Ref<Row> row;
    Link left, right;
  };

  static std::string_view name_of(const T& value) {
    if constexpr (std::is_pointer_v<T>)
      return value->name;
    else
      return value.name;
  }
  static std::uint64_t priority(const Node& node) {
    std::uint64_t x = node.row->order + 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  static Link make(Ref<Row> row, Link left, Link right) {
    return Link(new Node(std::move(row), std::move(left), std::move(right)));
  }

  std::uint64_t order_of(std::string_view name) const {
    const Node* at = root_.get();
    for (std::string_view here = name_of(at->row->value); here != name; here = name_of(at->row->value))
      at = (name < here ? at->left : at->right).get();
    return at->row->order;
  }

  static Link with(const Link& at, const Ref<Row>& row) {
    if (!at) return make(row, {}, {});
    const std::string_view name = name_of(row->value), here = name_of(at->row->value);
    if (name == here) return make(row, at->left, at->right);
    if (name < here) {
      Link left = with(at->left, row);
      if (priority(*left) <= priority(*at)) return make(at->row, std::move(left), at->right);
      return make(left->row, left->left, make(at->row, left->right, at->right));
    }
    Link right = with(at->right, row);
    if (priority(*right) <= priority(*at)) return make(at->row, at->left, std::move(right));
    return make(right->row, make(at->row, at->left, right->left), right->right);
  }

  static Link joined(const Link& left, const Link& right) {
    if (!left) return right;
    if (!right) return left;
    if (priority(*left) > priority(*right)) return make(left->row, left->left, joined(left->right, right));
    return make(right->row, joined(left, right->left), right->right);
  }
  static Link without(const Link& at, std::string_view name) {
    const std::string_view here = name_of(at->row->value);
    if (name == here) return joined(at->left, at->right);
    if (name < here) return make(at->row, without(at->left, name), at->right);
    return make(at->row, at->left, without(at->right, name));
  }

  Rows sorted(std::string_view prefix) const {
    std::vector<const Row*> found;
    std::vector<const Node*> open{root_.get()};
    while (!open.empty()) {
      const Node* at = open.back();
      open.pop_back();
      if (!at) continue;
      const std::string_view head = name_of(at->row->value).substr(0, prefix.size());
      if (head == prefix) found.push_back(at->row.get());
      if (head >= prefix) open.push_back(at->left.get());
      if (head <= prefix) open.push_back(at->right.get());
    }
    std::sort(found.begin(), found.end(), [](const Row* a, const Row* b) { return a->order < b->order; });
    Rows rows;
    rows.reserve(found.size());
    for (const Row* row : found) rows.push_back(std::cref(row->value));
    return rows;
  }

  Link root_;
  std::size_t size_ = 0;
  std::uint64_t next_order_ = 0;
};

}  // namespace rldb::support
