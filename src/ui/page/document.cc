// One file out of the assets.
#include "rldb/ui/page/document.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>

#include "rldb/support/cancel.h"
#include "rldb/support/line_diff.h"
#include "rldb/ui/page/compile_documents.h"
#include "rldb/ui/render/page.h"
#include "ui/page/assets.h"
#include "ui/page/packed_replies.h"

namespace rldb::ui {

namespace {

using PageJson = nlohmann::ordered_json;

// Compiling a kernel takes time, and a report is sent by mail.
constexpr std::size_t kMostKernels = 48;
constexpr std::size_t kMostKernelText = std::size_t(8) << 20;  // bytes of all of them
// Bytes of texts that stand in the report whole. A pass changes few lines of a long module: beyond that a version
// between the first and the last has its new lines only, and the page puts it together from the version before.
constexpr std::size_t kMostWholeText = std::size_t(256) << 10;
// A report has the graph of each function of each version: no more of its time than this is for their pictures.
constexpr double kGraphvizSeconds = 5;
// Ways in which a graph is drawn. A page without rldb shows no others: a scope that is opened opens all.
constexpr std::string_view kRecordedViews[] = {"", "all", "folded", "all,folded"};

std::string replaced(std::string text, std::string_view mark, std::string_view by) {
  const auto at = text.find(mark);
  return at == std::string::npos ? text : text.replace(at, mark.size(), by);
}

std::string document(std::string_view title, std::string_view policy, std::string_view nonce, std::string_view report,
                     std::string_view data) {
  std::string text(page_template());
  text = replaced(std::move(text), "{policy}", policy);
  text = replaced(std::move(text), "{title}", html_text(title));
  text = replaced(std::move(text), "{style}", page_sheet());
  text = replaced(std::move(text), "{report}", report);
  text = replaced(std::move(text), "{data}", data);
  return replaced(std::move(text), "{scripts}",
                  fmt::format("<script nonce=\"{}\">\n\"use strict\";\n{}</script>", nonce, page_scripts()));
}

// Requests that the page would send, with their replies.
class Recorded {
 public:
  explicit Recorded(session::Session& session) : documents_(session, nullptr) {
    documents_.limit_graphviz(kGraphvizSeconds);
  }

  void record_all() {
    PageJson program = documents_.program();
    const std::size_t versions = program["versions"].size();
    for (std::size_t v = 0; v < versions; ++v) add_version(v, v + 1 == versions, program["functions"]);
    keep("source", documents_.source());
    keep("instructions", documents_.instructions());
    add_kernels(program["kernels"]);
    keep("program", std::move(program));
  }
  void keep_all(const PageReplies& replies) {
    for (const auto& [request, reply] : replies) keep(request, reply);
  }
  std::string data() const { return packed_.text(); }
  // The texts stand in the report, once.
  const std::string& texts() const { return texts_; }

 private:
  void keep(const std::string& request, std::optional<PageJson> reply) {
    support::poll();
    if (!reply) return;
    if (request.find("version=") != std::string::npos) reply->erase("version");  // equal ones stand once
    packed_.add(request, *std::move(reply));
  }

  void add_version(std::size_t v, bool last, const PageJson& functions) {
    auto text = documents_.text(v);
    if (!text) return;
    std::string lines = (*text)["text"];
    text->erase("text");
    if (v == 0 || last || texts_.size() + lines.size() <= kMostWholeText)
      texts_ += fmt::format(
          "<details><summary>Version {}</summary>\n<pre class=\"out\" id=\"text-{}\">\n{}</pre>\n</details>\n", v, v,
          html_text(lines));
    else
      (*text)["added"] = added_lines(before_, lines);
    before_ = std::move(lines);
    keep(fmt::format("text?version={}", v), std::move(text));
    keep(fmt::format("diff?version={}", v), documents_.diff(v));
    keep(fmt::format("memory?version={}", v), documents_.memory(v));
    for (const PageJson& row : functions) {
      const std::string name = row;
      keep(fmt::format("graph?version={}&function={}", v, name), documents_.graph(v, name));
      for (const std::string_view view : kRecordedViews)
        keep(fmt::format("layout?version={}&function={}&view={}", v, name, view), documents_.layout(v, name, view, ""));
    }
  }

  // In the order of the rows of `diff`.
  static PageJson added_lines(std::string_view before, std::string_view after) {
    PageJson added = PageJson::array();
    for (const support::DiffHunk& hunk : support::diff_hunks(before, after))
      for (const support::DiffLine& line : hunk.lines)
        if (line.mark == '+') added.push_back(line.text);
    return added;
  }

  void add_kernels(const PageJson& kernels) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < kernels.size() && i < kMostKernels && bytes < kMostKernelText; ++i) {
      const std::string name = kernels[i]["name"];
      auto kernel = documents_.kernel(name);
      if (kernel) bytes += kernel->dump(-1, ' ', false, PageJson::error_handler_t::replace).size();
      keep("kernel?name=" + name, std::move(kernel));
    }
  }

  CompileDocuments documents_;
  PackedReplies packed_;
  std::string texts_;
  std::string before_;  // the text of the version before
};

}  // namespace

std::string random_word() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned char, 16> bytes{};
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t n = ::getrandom(bytes.data() + filled, bytes.size() - filled, 0);
    if (n > 0) filled += std::size_t(n);
  }
  std::string word;
  for (const unsigned char b : bytes) {
    word += kDigits[b >> 4];
    word += kDigits[b & 15];
  }
  return word;
}

std::string live_policy(std::string_view nonce) {
  return fmt::format(
      "default-src 'none'; script-src 'nonce-{}'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      nonce);
}

std::string live_document(std::string_view nonce) { return document("rldb", "", nonce, "", ""); }

std::string static_document(session::Session& session, std::string_view title, const std::string& report,
                            const PageReplies& values) {
  const std::string nonce = random_word();
  Recorded recorded(session);
  recorded.keep_all(values);
  recorded.record_all();
  const std::string policy = fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src &#39;nonce-{}&#39;; "
      "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
      "require-trusted-types-for 'script'\"/>",
      nonce);
  const std::string body = report + "<h2 id=\"versions\">Versions</h2>\n" + recorded.texts();
  return document(title, policy, nonce, body,
                  fmt::format("<script type=\"application/octet-stream\" id=\"data\">\n{}</script>", recorded.data()));
}

}  // namespace rldb::ui
