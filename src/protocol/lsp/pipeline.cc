// The pipeline that a text names in a comment, `# rldb: passes=A,B`, or that a setting names: its diagnostics belong to
// those of the text.
#include <fmt/format.h>

#include <algorithm>

#include "protocol/lsp/methods.h"
#include "rldb/session/session.h"

namespace rldb::protocol::lsp {

using frontend::TextRange;

namespace {

constexpr std::string_view kComment = "# rldb: passes=";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// In the text if it is there, else at the name of the pass in the comment, else at the comment.
TextRange place_of(const source::Diagnostic& d, const session::Session& session, const TextFile& file,
                   const NamedPipeline& pipeline) {
  const source::Buffer* buffer = session.sources().find(d.span.file);
  if (d.span && buffer && buffer->text() == file.text()) return {d.span.begin, d.span.end};
  const std::string_view written = file.text().substr(pipeline.at.begin, pipeline.at.end - pipeline.at.begin);
  std::size_t from = 0;
  while (from < written.size()) {
    const std::size_t end = std::min(written.find_first_of(",(", from), written.size());
    const std::string_view name = trimmed(written.substr(from, end - from));
    if (!name.empty() && d.message.find("`" + std::string(name) + "`") != std::string::npos) {
      const auto begin = static_cast<std::uint32_t>(pipeline.at.begin + std::size_t(name.data() - written.data()));
      return {begin, static_cast<std::uint32_t>(begin + name.size())};
    }
    from = end + 1;
  }
  return pipeline.at;
}

}  // namespace

std::optional<NamedPipeline> pipeline_of(const Server& server, const TextFile& file) {
  const std::string_view text = file.text();
  // The first comment of its own: one that a string has is not at the beginning of a line.
  for (std::size_t at = text.find(kComment); at != std::string_view::npos; at = text.find(kComment, at + 1)) {
    const std::size_t line = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    if (!trimmed(text.substr(line, at - line)).empty()) continue;
    const std::size_t begin = at + kComment.size();
    const std::string_view passes = trimmed(text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin));
    if (passes.empty()) return std::nullopt;
    const auto from = static_cast<std::uint32_t>(passes.data() - text.data());
    return NamedPipeline{std::string(passes), {from, static_cast<std::uint32_t>(from + passes.size())}};
  }
  if (server.client().passes.empty()) return std::nullopt;
  return NamedPipeline{server.client().passes, {}};
}

std::optional<std::string_view> pass_being_typed(std::string_view text, std::uint32_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::string_view line =
      before.substr(before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1);
  if (!trimmed(line).starts_with(kComment)) return std::nullopt;
  return trimmed(line.substr(line.find_last_of(",=") + 1));
}

void run_pipeline(Server& server, TextFile& file, const NamedPipeline& pipeline) {
  std::vector<PipelineFinding> findings;
  const std::vector<source::Diagnostic> of_text = file.diagnostics();
  const bool good = std::none_of(of_text.begin(), of_text.end(),
                                 [](const source::Diagnostic& d) { return d.severity == source::Severity::Error; });
  if (good) {
    session::Options options = server.line().options;
    options.engine = session::Engine::Vm;
    options.cache_dir.clear();
    session::Session session(options);
    source::Diagnostics loading, found;
    if (session.load_text(path_of_uri(file.uri()), std::string(file.text()), loading))
      (void)session.run_passes(pipeline.passes, found);
    for (source::Diagnostic d : found.all()) {
      const TextRange at = place_of(d, session, file, pipeline);
      for (source::Note& n : d.notes) n.span = {};
      d.span = {};
      findings.push_back({std::move(d), at});
    }
  }
  const bool none = findings.empty() && file.pipeline.findings.empty();
  file.pipeline = {file.generation(), pipeline.passes, std::move(findings)};
  if (none) file.published.pipeline = file.pipeline.generation;  // nothing to tell
}

}  // namespace rldb::protocol::lsp
