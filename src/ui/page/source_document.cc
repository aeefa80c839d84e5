// One walk of the printer over the version: each binding has a line there and a place in the text.
#include "ui/page/source_document.h"

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

class SourceLines : public ir::Decorator {
 public:
  SourceLines(const ir::Context& context, const source::SourceManager& sources, const Relatives& relatives)
      : context_(context), sources_(sources), relatives_(relatives) {}

  void line(int number, const ir::Node* node) override {
    const auto* b = ir::as<ir::Binding>(node);
    if (!b) return;
    const source::Span at = context_.span_of(b);
    const source::Buffer* text = sources_.find(at.file);
    if (!text || (buffer && text != buffer)) return;
    buffer = text;
    const std::uint32_t written = text->line_column(at.begin).line;
    printed.push_back({written, number});
    PageJson row{written};
    for (const std::uint32_t relative : relatives_.of(b->id)) row.push_back(relative);
    if (row.size() > 1) lines.push_back(std::move(row));
  }

  const source::Buffer* buffer = nullptr;  // of the first binding: others' are left out
  PageJson printed = PageJson::array();
  PageJson lines = PageJson::array();

 private:
  const ir::Context& context_;
  const source::SourceManager& sources_;
  const Relatives& relatives_;
};

// The one that a text was read to: the last one made by hand.
std::size_t written_version(const std::vector<debug::ModuleVersion>& versions) {
  std::size_t written = 0;
  for (std::size_t v = 0; v < versions.size(); ++v)
    if (versions[v].pass.empty() && !versions[v].by_build) written = v;
  return written;
}

}  // namespace

std::optional<PageJson> source_document(const ir::Context& context, const source::SourceManager& sources,
                                        const std::vector<debug::ModuleVersion>& versions, const Relatives& relatives,
                                        const ir::PrintOptions& options) {
  if (versions.empty()) return std::nullopt;
  const std::size_t version = written_version(versions);
  SourceLines lines(context, sources, relatives);
  (void)ir::print(versions[version].module, options, &lines);
  if (!lines.buffer) return std::nullopt;
  return PageJson{{"name", lines.buffer->name()},
                  {"text", std::string(lines.buffer->text())},
                  {"version", version},
                  {"functions", PageJson::array()},
                  {"relatives", std::move(lines.lines)},
                  {"printed", std::move(lines.printed)}};
}

}  // namespace rldb::ui
