// HTTP/1.1 as the live page's server reads and writes it: requests out of bytes by anybody, bounded in size.
//
// A request line and headers of at most 16 KiB, a body of at most 1 MiB with `Content-Length`; no transfer encodings,
// no upgrades. Whatever is wrong with a request is a status code, and the connection ends. Source: RFC 9110, RFC 9112.
// Users: the server, its fuzz target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace rldb::protocol {

constexpr std::size_t kMaxHttpHead = std::size_t(16) << 10;
constexpr std::size_t kMaxHttpBody = std::size_t(1) << 20;

struct HttpRequest {
  std::string method;
  std::string path;                                         // without the query, percent-decoded
  std::map<std::string, std::string, std::less<>> query;    // decoded; the last of equal names
  std::map<std::string, std::string, std::less<>> headers;  // names in lower case
  std::string body;
  bool keep_alive = true;

  std::string_view header(std::string_view name) const;  // empty: none
  std::string_view argument(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::string policy;  // Content-Security-Policy; empty: nothing at all is allowed
};
HttpResponse http_error(int status, std::string_view why);
std::string to_bytes(const HttpResponse& response, bool keep_alive);

class HttpReader {
 public:
  void feed(std::string_view bytes) { bytes_ += bytes; }
  // The next whole request. nullopt: more bytes are needed, or `problem` is not 0.
  std::optional<HttpRequest> next();
  // A status code; 0: none. Nothing more can be read after it.
  int problem() const { return problem_; }

 private:
  std::optional<HttpRequest> fail(int status);
  std::string bytes_;
  int problem_ = 0;
};

// Who may ask: a page that this server gave out, on this machine. The path of a request begins with the token; its
// `Host` and `Origin` have to be this server's, so that no other site can reach it by a name of its own.
struct HttpAccess {
  std::string token;
  std::uint16_t port = 0;
};
// 0: allowed, and the token is taken off the path. Otherwise the status code of the refusal.
int http_refusal(HttpRequest& request, const HttpAccess& access);

}  // namespace rldb::protocol
