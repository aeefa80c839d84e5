// Requests of the page: documents of the compile, the stopped run, the console; entries.
#include "protocol/serve/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <utility>

#include "protocol/json_rpc.h"
#include "rldb/debug/storage.h"
#include "rldb/ui/page/document.h"
#include "rldb/ui/prompt/completion.h"
#include "rldb/ui/prompt/start_run.h"
#include "rldb/ui/prompt/value_document.h"
#include "rldb/ui/render/page.h"
#include "rldb/ui/render/profile_view.h"
#include "rldb/ui/terminal/guarded.h"

namespace rldb::protocol {

namespace {

using ui::Json;

constexpr double kSeconds = 20;           // for a request that only looks
constexpr int kWhyDepth = 4;              // levels
constexpr std::size_t kLocalsPage = 100;  // rows of a reply
constexpr std::size_t kNamesAhead = 40;
constexpr std::size_t kMostPiece = 1u << 19;  // bytes of one piece of output
constexpr std::string_view kCut = "\n... (the terminal has the rest)\n";

std::optional<std::size_t> number_in(const HttpRequest& request, std::string_view name) {
  const std::string_view text = request.argument(name);
  std::size_t n = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return n;
}

std::string text_in_body(const Json& body, const char* key) {
  const auto it = body.find(key);
  return it != body.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string problems_of(const source::Diagnostics& diagnostics) {
  std::string out;
  for (const source::Diagnostic& d : diagnostics.all()) out += (out.empty() ? "" : "\n") + d.message;
  return out;
}

std::string_view name_of(ui::OutputKind kind) {
  switch (kind) {
    case ui::OutputKind::Text:
      return "text";
    case ui::OutputKind::Error:
      return "error";
    case ui::OutputKind::Script:
      return "script";
    case ui::OutputKind::Source:
      return "source";
    case ui::OutputKind::Diff:
      return "diff";
    case ui::OutputKind::Picture:
      return "picture";
    case ui::OutputKind::Value:
      return "value";
  }
  return "text";
}

// A value is recorded as a table of a page. Its cells and rows as text: no markup of ours reaches the page's elements.
std::string text_of_table(std::string_view html) {
  constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
      {"</td>", "  "}, {"</th>", "  "},  {"</tr>", "\n"}, {"</div>", "\n"}, {"&lt;", "<"},
      {"&gt;", ">"},   {"&quot;", "\""}, {"&#39;", "'"},  {"&amp;", "&"}};
  std::string out;
  while (!html.empty()) {
    const auto* mark =
        std::find_if(std::begin(kMarks), std::end(kMarks), [&](const auto& m) { return html.starts_with(m.first); });
    if (mark != std::end(kMarks)) {
      out += mark->second;
      html.remove_prefix(mark->first.size());
    } else if (html.front() == '<') {
      html.remove_prefix(std::min(html.find('>'), html.size() - 1) + 1);
    } else {
      if (html.front() != '\n') out += html.front();
      html.remove_prefix(1);
    }
  }
  return out;
}

std::string shortened(std::string text) {
  if (text.size() <= kMostPiece) return text;
  text.resize(kMostPiece);
  return text.append(kCut);
}

Json piece_json(const ui::OutputPiece& piece) {
  Json out{{"kind", name_of(piece.kind)}};
  if (piece.kind == ui::OutputKind::Diff) {
    std::string text;
    for (const ui::DiffHunk& hunk : piece.hunks) {
      text += hunk.head() + "\n";
      for (const ui::DiffLine& line : hunk.lines) text += line.mark + line.text + "\n";
    }
    out["text"] = shortened(std::move(text));
  } else if (piece.kind == ui::OutputKind::Picture && piece.text.size() > kMostPiece) {
    out = {{"kind", name_of(ui::OutputKind::Text)}, {"text", "(a picture that is too large for the console)\n"}};
  } else if (piece.kind == ui::OutputKind::Picture) {
    out["text"] = piece.text;
  } else if (piece.kind == ui::OutputKind::Value) {
    out["text"] = text_of_table(shortened(piece.text));
  } else {
    out["text"] = ui::without_colors(shortened(piece.text));
  }
  return out;
}

}  // namespace

HttpResponse Answers::answer(const HttpRequest& request) {
  if (request.method == "GET" && request.path.empty()) {
    const std::string nonce = ui::random_word();
    return {200, "text/html", ui::live_document(nonce), ui::live_policy(nonce)};
  }
  std::string reply;  // empty: there is no such thing
  Json body;
  if (request.method == "POST") {
    auto read = parse_bounded(request.body);
    if (!read.ok() || !read->is_object()) return http_error(400, "the body is not a JSON object");
    body = *std::move(read);
  }
  const auto work = [&] {
    if (const Reply json = request.method == "POST" ? post(request, body) : get(request))
      reply = json->dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  // Entries and profiles have the session's own limit and guard.
  if (request.method == "POST")
    work();
  else if (const auto abandoned = ui::run_guarded(work, kSeconds))
    return http_error(503, abandoned->message.text);
  if (reply.empty()) return http_error(404, "there is no such thing in this session");
  return {200, "application/json", std::move(reply), {}};
}

Answers::Reply Answers::get(const HttpRequest& request) {
  const std::string& path = request.path;
  const std::size_t version = number_in(request, "version").value_or(std::size_t(-1));
  if (path == "state") return state();
  if (path == "program") return documents_.program();
  if (path == "source") return documents_.source();
  if (path == "text") return documents_.text(version);
  if (path == "diff") return documents_.diff(version);
  if (path == "graph") return documents_.graph(version, request.argument("function"));
  if (path == "layout")
    return documents_.layout(version, request.argument("function"), request.argument("view"), request.argument("open"));
  if (path == "memory") return documents_.memory(version);
  if (path == "kernel") return documents_.kernel(std::string(request.argument("name")));
  if (path == "instructions") return documents_.instructions();
  if (path == "stop") return stop(number_in(request, "first"));
  if (path == "heap") return repl_.debugger().machine() ? Reply(ui::heap_json(repl_)) : std::nullopt;
  if (path == "console") return console(number_in(request, "since").value_or(0));
  if (path == "value") return value(request.argument("name"), request);
  if (path == "why") return why(request.argument("name"));
  if (path == "complete") {
    std::size_t start = 0;
    const std::string text(request.argument("text"));
    Json candidates = Json::array();
    for (const ui::Candidate& c : ui::complete_entry(repl_, text, text.size(), start)) candidates.push_back(c.text);
    return Json{{"start", start}, {"candidates", std::move(candidates)}};
  }
  return std::nullopt;
}

Answers::Reply Answers::post(const HttpRequest& request, const Json& body) {
  if (request.path == "command") return enter(text_in_body(body, "entry"));
  if (request.path == "break") return toggle_breakpoint(body);
  if (request.path == "profile") return profile(text_in_body(body, "call"));
  return std::nullopt;
}

Json Answers::state() {
  const debug::StopReport& stop = repl_.debugger().last_stop();
  Json out{{"revision", revision_}, {"prompt", repl_.prompt()}, {"active", repl_.debugger().active()}};
  out["position"] = repl_.session().program() ? Json(repl_.session().program()->position()) : Json();
  out["stop"] = ui::stop_json(repl_, stop);
  out["breakpoints"] = ui::breakpoints_json(repl_);
  out["entries"] = repl_.recorded().entries().size();
  out["document"] = documents_.number();
  return out;
}

// A page of locals: a frame may have tens of thousands. The last page, unless another one is asked for.
Json Answers::stop(std::optional<std::size_t> first) {
  Json out{{"frames", ui::frames_json(repl_, false)}, {"frame", repl_.frame()}};
  if (!repl_.debugger().machine()) return out;
  const debug::Debugger::LocalsPage page = repl_.debugger().locals_page(repl_.frame(), first, kLocalsPage);
  out["locals"] = ui::local_rows(repl_, repl_.frame(), page.list);
  out["first"] = page.first;
  out["total"] = page.total;
  if (first) return out;
  std::vector<std::string> ahead = debug::other_names(repl_.debugger(), repl_.frame()).ahead;
  out["not_yet_total"] = ahead.size();
  ahead.resize(std::min(ahead.size(), kNamesAhead));
  out["not_yet"] = std::move(ahead);
  out["time"] = ui::checkpoints_json(repl_);
  return out;
}

Json Answers::console(std::size_t since) {
  const auto& entries = repl_.recorded().entries();
  Json rows = Json::array();
  for (std::size_t i = since; i < entries.size(); ++i) {
    const ui::RecordedEntry& entry = entries[i];
    Json pieces = Json::array();
    for (const ui::OutputPiece& piece : entry.pieces) pieces.push_back(piece_json(piece));
    rows.push_back({{"number", i},
                    {"prompt", entry.prompt},
                    {"text", entry.text},
                    {"failed", entry.failed},
                    {"ended", entry.ended},
                    {"pieces", std::move(pieces)}});
  }
  return {{"entries", std::move(rows)}, {"full", repl_.recorded().full()}};
}

Answers::Reply Answers::value(std::string_view expression, const HttpRequest& request) {
  source::Diagnostics diagnostics;
  std::vector<std::string> notes;
  const auto value = repl_.debugger().evaluate(expression, repl_.frame(), diagnostics, &notes);
  if (!value) return Json{{"name", expression}, {"problem", problems_of(diagnostics)}};
  std::vector<std::int64_t> index;
  std::string_view text = request.argument("index");
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    std::int64_t n = 0;
    (void)std::from_chars(text.data(), text.data() + end, n);
    index.push_back(n);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Json out = ui::value_document(*value, std::move(index));
  out["name"] = expression;
  out["notes"] = notes;
  return out;
}

Answers::Reply Answers::why(std::string_view name) {
  source::Diagnostics diagnostics;
  const auto steps = repl_.debugger().why(name, repl_.frame(), kWhyDepth, diagnostics);
  return Json{{"name", name}, {"steps", ui::why_json(steps)}, {"problem", problems_of(diagnostics)}};
}

Answers::Reply Answers::enter(const std::string& entry) {
  ++revision_;
  // Questions are asked at the terminal; here they are refused, and the refusal says how to insist.
  repl_.console().print("page: {}\n", entry);
  const auto ask = std::exchange(repl_.ask, {});
  const auto go_on = std::exchange(repl_.go_on, {});
  const ui::Status status = repl_.execute(entry);
  repl_.ask = ask;
  repl_.go_on = go_on;
  quit_ = status == ui::Status::Quit;
  return Json{{"ok", status == ui::Status::Good}, {"quit", quit_}};
}

// The breakpoints at a line are deleted; where there are none, one is set.
Answers::Reply Answers::toggle_breakpoint(const Json& body) {
  const auto number = [&](const char* key) -> std::int64_t {
    const auto it = body.find(key);
    return it != body.end() && it->is_number_integer() ? it->get<std::int64_t>() : -1;
  };
  const std::int64_t version = number("version"), line = number("line");
  if (version < 0 || line < 1 || line > 0x7fffffff) return std::nullopt;
  std::vector<std::string> specs;
  if (ui::run_guarded([&] { specs = documents_.places(std::size_t(version), std::uint32_t(line)); }, kSeconds))
    return std::nullopt;
  if (specs.empty()) return Json{{"ok", false}, {"problem", "no line of this function from here on has code"}};
  std::vector<int> present;
  for (const auto& [n, b] : repl_.debugger().breakpoints())
    if (std::find(specs.begin(), specs.end(), b.spec) != specs.end()) present.push_back(n);
  for (const int n : present) (void)enter(fmt::format(":delete {}", n));
  if (present.empty())
    for (const std::string& spec : specs) (void)enter(":break " + spec);
  return Json{{"ok", true}};
}

// As the entry `:profile` does it, under the session's limits. The terminal shows who asked and what failed.
Answers::Reply Answers::profile(const std::string& words) {
  ++revision_;
  const std::string entry = ":profile " + words;
  repl_.console().print("page: {}\n", entry);
  repl_.last() = {};
  ui::ProfiledCall done;
  (void)repl_.guard(entry, [&] {
    done = ui::profile_call(repl_, ui::split_words(words), 1, true);
    return done.completed ? ui::Status::Good : ui::Status::Failed;
  });
  return Json{{"profiles", ui::profile_json(done.profiles)},
              {"problem", fmt::format("{}", fmt::join(repl_.last().errors, "\n"))}};
}

}  // namespace rldb::protocol
