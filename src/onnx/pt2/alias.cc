// Which names share memory, and whether a change of it is seen through another name.
#include "onnx/pt2/alias.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "onnx/operators.h"
#include "rldb/ops/emitter.h"

namespace rldb::onnx {

bool changes_in_place(const pb::NodeProto& node) {
  if (node.domain() != "aten" || node.input_size() == 0) return false;
  const std::string name = node.op_type().substr(0, node.op_type().find('.'));
  if (name.size() < 2 || !name.ends_with("_") || name.ends_with("__")) return false;
  const OperatorRow* row = operator_row(node.domain(), node.op_type());
  return !row || !row->shares_memory;
}

namespace {

class Memory {
 public:
  explicit Memory(const pb::GraphProto& graph) : graph_(graph) {
    for (int i = 0; i < graph.node_size(); ++i)
      for (const std::string& name : graph.node(i).input()) last_use_[name] = i;
    for (const auto& output : graph.output()) last_use_[output.name()] = graph.node_size();
    for (const auto& input : graph.input()) outside_.emplace(input.name(), "input");
    for (const auto& weight : graph.initializer()) outside_.emplace(weight.name(), "parameter or buffer");
  }

  ir::Result<support::Unit> check() {
    for (int i = 0; i < graph_.node_size(); ++i) {
      const pb::NodeProto& n = graph_.node(i);
      if (n.input_size() == 0) continue;
      const bool changes = changes_in_place(n);
      if (changes) {
        RLDB_TRY_VOID(change(n, i));
      }
      const OperatorRow* row = operator_row(n.domain(), n.op_type());
      if (changes || (row && row->shares_memory))
        for (const std::string& output : n.output()) join(output, n.input(0));
    }
    return support::Unit();
  }

 private:
  // Of the names of one memory, the two that are used last.
  struct Shared {
    std::string last, before;
  };

  int last_use(const std::string& name) const {
    const auto found = last_use_.find(name);
    return found == last_use_.end() ? -1 : found->second;
  }
  const std::string& owner(const std::string& name) const {
    const auto found = owner_.find(name);
    return found == owner_.end() ? name : found->second;
  }
  void join(const std::string& view, const std::string& of) {
    if (view.empty()) return;
    const std::string whole = owner(of);
    owner_[view] = whole;
    Shared& names = shared_.try_emplace(whole, Shared{whole, ""}).first->second;
    if (last_use(view) >= last_use(names.last))
      names = {view, names.last};
    else if (names.before.empty() || last_use(view) > last_use(names.before))
      names.before = view;
  }

  // The other names of the memory must not be used later, and nobody outside of the program may have it.
  ir::Result<support::Unit> change(const pb::NodeProto& n, int at) {
    const std::string& changed = n.input(0);
    const std::string other = other_use(changed, at);
    if (!other.empty())
      return ops::refuse(
          fmt::format("node {} (`{}`) changes `{}` in place, and `{}`, which is used after it, shares its memory",
                      n.name(), n.op_type(), changed, other));
    const auto outside = outside_.find(owner(changed));
    if (outside == outside_.end()) return support::Unit();
    return ops::refuse(fmt::format("node {} (`{}`) changes the {} `{}` in place, which lives on after a run", n.name(),
                                   n.op_type(), outside->second, outside->first));
  }
  // Another name of the memory that is used after node `at`; empty: there is none.
  std::string other_use(const std::string& changed, int at) const {
    const auto found = shared_.find(owner(changed));
    if (found == shared_.end()) return {};
    const std::string& other = found->second.last == changed ? found->second.before : found->second.last;
    return last_use(other) > at ? other : std::string();
  }

  const pb::GraphProto& graph_;
  std::unordered_map<std::string, std::string_view> outside_;  // inputs and weights, and which of the two
  std::unordered_map<std::string, int> last_use_;              // the index of the node
  std::unordered_map<std::string, std::string> owner_;
  std::unordered_map<std::string, Shared> shared_;  // by owner
};

}  // namespace

ir::Result<support::Unit> check_memory_changes(const pb::GraphProto& graph) { return Memory(graph).check(); }

}  // namespace rldb::onnx
