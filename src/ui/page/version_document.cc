// One walk of the printer over the module, line by line.
#include "ui/page/version_document.h"

#include <unordered_map>

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

std::string_view kind_of_function(const ir::Expr* function) {
  return ir::isa<ir::PrimFunc>(function) ? "kernel" : ir::isa<ir::Function>(function) ? "function" : "other";
}

class PageLines : public ir::Decorator {
 public:
  PageLines(const ir::Module* module, std::size_t version, const Relatives& relatives)
      : version_(version), relatives_(relatives) {
    for (const ir::ModuleEntry& entry : module->entries) functions_.try_emplace(entry.function, &entry);
  }

  void line(int number, const ir::Node* node) override {
    if (const auto it = functions_.find(node); node && it != functions_.end() && it->second != current_)
      begin(number, *(current_ = it->second));
    if (rows.empty()) return;
    rows.back()["last"] = number;
    const auto* b = ir::as<ir::Binding>(node);
    if (!b) return;
    const RelativeList& list = relatives_.of(b->id);
    if (list.empty()) return;
    PageJson row{number};
    for (const std::uint32_t relative : list) row.push_back(relative);
    lines.push_back(std::move(row));
  }

  PageJson rows = PageJson::array();   // of functions
  PageJson lines = PageJson::array();  // a line's number and its relatives

 private:
  void begin(int number, const ir::ModuleEntry& entry) {
    rows.push_back({{"name", entry.name}, {"kind", kind_of_function(entry.function)}, {"first", number}});
    if (const RelativeList& list = relatives_.of_callers(version_, entry.name); !list.empty())
      rows.back()["relatives"] = list;
  }

  std::size_t version_;
  const Relatives& relatives_;
  std::unordered_map<const ir::Node*, const ir::ModuleEntry*> functions_;
  const ir::ModuleEntry* current_ = nullptr;
};

}  // namespace

PageJson version_document(const debug::ModuleVersion& version, std::size_t number, const Relatives& relatives,
                          const ir::PrintOptions& options) {
  PageLines lines(version.module, number, relatives);
  std::string text = ir::print(version.module, options, &lines);
  return {{"version", number},
          {"text", std::move(text)},
          {"functions", std::move(lines.rows)},
          {"relatives", std::move(lines.lines)}};
}

}  // namespace rldb::ui
