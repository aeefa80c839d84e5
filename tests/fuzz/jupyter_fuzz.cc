// Fuzz target: a client of a notebook's kernel. An input is the text of a module, which is the first cell; requests of
// every type follow, as frames: some damaged, some with members of wrong types, chosen by the text's bytes. Whatever
// arrives, a request gets a reply, and the kernel goes on.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/mutate.h"
#include "rldb/protocol/notebook.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".py", ".relay"};

namespace {

using Json = nlohmann::ordered_json;
using protocol::NotebookKernel;

constexpr int kRequests = 16;
constexpr double kSeconds = 2;  // for a cell
constexpr std::string_view kEnd = "END_OF_CELL";

// Cells of pieces of a text must not start a shell or write files: without these characters there are no commands.
std::string harmless(std::string text) {
  std::erase_if(text, [](char c) { return c == '!' || c == ':' || c == '|' || c == '%'; });
  return text;
}

class Notebook {
 public:
  explicit Notebook(const std::string& text) : text_(text) {
    std::uint64_t seed = 1469598103934665603ULL;
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    rng_.seed(seed);
  }

  std::string ask_everything() {
    std::string text = text_;
    for (auto at = text.find(kEnd); at != std::string::npos; at = text.find(kEnd)) text.erase(at, kEnd.size());
    send("execute_request", {{"code", std::string(":load <<").append(kEnd) + "\n" + text + "\n" + std::string(kEnd)}});
    static constexpr const char* kTypes[] = {"execute_request",  "complete_request",    "inspect_request",
                                             "history_request",  "kernel_info_request", "is_complete_request",
                                             "comm_info_request"};
    for (int i = 0; i < kRequests; ++i) send(kTypes[below(rng_, std::size(kTypes))], content());
    return unanswered_ == 0 ? "" : "a request without a reply";
  }

 private:
  std::string piece() {
    const std::size_t at = below(rng_, text_.size() + 1);
    return harmless(text_.substr(at, below(rng_, 60)));
  }
  Json value(std::string_view key) {
    if (below(rng_, 8) == 0) return Json::array({nullptr, 7});  // of a wrong type
    static constexpr const char* kCode[] = {":show",   ":run",   "next",         "locals",
                                            "print x", ":graph", "reverse-next", ":diff"};
    if (key == "code") return below(rng_, 2) == 0 ? Json(kCode[below(rng_, std::size(kCode))]) : Json(piece());
    if (key == "cursor_pos" || key == "detail_level" || key == "n") return std::int64_t(below(rng_, 90)) - 5;
    if (key == "user_expressions") return Json{{"a", piece()}, {"b", 7}};
    return below(rng_, 2) == 0;
  }
  Json content() {
    Json out = Json::object();
    for (const char* key : {"code", "cursor_pos", "detail_level", "silent", "store_history", "user_expressions",
                            "allow_stdin", "stop_on_error", "hist_access_type", "n"})
      if (below(rng_, 3) != 0) out[key] = value(key);
    return out;
  }
  void send(const char* type, const Json& content) {
    NotebookKernel::Frames frames = kernel_.request(type, content.dump(-1, ' ', false, Json::error_handler_t::replace));
    const bool damaged = below(rng_, 6) == 0;
    if (damaged) damage(frames);
    if (kernel_.answer(frames).empty() && !damaged) ++unanswered_;
  }
  void damage(NotebookKernel::Frames& frames) {
    const std::size_t at = below(rng_, frames.size());
    if (below(rng_, 3) == 0)
      frames.erase(frames.begin() + std::ptrdiff_t(at));
    else
      frames[at] = piece();
  }

  const std::string& text_;
  Rng rng_;
  int unanswered_ = 0;
  // Nothing is signed, so that damage is found where it is read.
  NotebookKernel kernel_{"", kSeconds};
};

}  // namespace

std::string run_one(const std::string& input) { return Notebook(input).ask_everything(); }

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) { return mutate_text(input, pool, rng); }

}  // namespace rldb::fuzz
