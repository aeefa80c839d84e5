// Fuzz target: bytes for the live page's server. However they are cut into pieces, the same requests are read, up to
// the same problem; nothing gets in without the token; a request that got in would be answered from a table of paths.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "fuzz/mutate.h"
#include "rldb/protocol/http.h"

namespace rldb::fuzz {

const std::vector<std::string> kSeedEndings{".http"};

namespace {

using namespace protocol;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";
constexpr std::string_view kSeeds[] = {
    "GET /0123456789abcdef0123456789abcdef/text?version=0&function=a%20b HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n",
    "POST /0123456789abcdef0123456789abcdef/command HTTP/1.1\r\nHost: localhost:80\r\nContent-Type: "
    "application/json\r\n"
    "Content-Length: 14\r\nOrigin: http://localhost:80\r\n\r\n{\"entry\":\":bt\"}",
    "GET / HTTP/1.0\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nSec-Fetch-Site: none\r\n\r\n"};

struct Read {
  std::vector<HttpRequest> requests;
  int problem = 0;
};

void take_all(HttpReader& reader, Read& out) {
  while (auto request = reader.next()) out.requests.push_back(*std::move(request));
  out.problem = reader.problem();
}

Read read_in_pieces(const std::string& bytes, std::size_t piece) {
  HttpReader reader;
  Read out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    reader.feed(std::string_view(bytes).substr(at, piece));
    take_all(reader, out);
  }
  return out;
}

bool is_same_request(const HttpRequest& a, const HttpRequest& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.headers == b.headers && a.body == b.body;
}

}  // namespace

std::string run_one(const std::string& input) {
  const Read whole = read_in_pieces(input, std::max<std::size_t>(input.size(), 1)), cut = read_in_pieces(input, 7);
  if (whole.requests.size() != cut.requests.size()) return "another number of requests in pieces";
  if (whole.problem != cut.problem) return fmt::format("problems {} and {}", whole.problem, cut.problem);
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    HttpRequest request = whole.requests[i];
    if (!is_same_request(request, cut.requests[i])) return "another request in pieces";
    if (request.body.size() > kMaxHttpBody) return "a body above the limit";
    const std::string path = request.path;
    const bool has_token = path.starts_with(fmt::format("/{}/", kToken));
    if (http_refusal(request, {std::string(kToken), 80}) == 0 && !has_token) return "in without the token: " + path;
    (void)to_bytes(http_error(400, path), request.keep_alive);
  }
  return {};
}

std::string mutate_one(const std::string& input, const Pool& pool, Rng& rng) {
  std::string out = input.empty() ? std::string(kSeeds[below(rng, std::size(kSeeds))]) : input;
  if (below(rng, 3) == 0) out += kSeeds[below(rng, std::size(kSeeds))];
  for (std::size_t i = below(rng, 4); i > 0; --i) out = mutate_text(std::move(out), pool, rng);
  return out;
}

}  // namespace rldb::fuzz
