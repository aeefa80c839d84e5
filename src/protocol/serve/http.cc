// Requests out of bytes, responses into them.
#include "rldb/protocol/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>

namespace rldb::protocol {

namespace {

constexpr std::size_t kMostHeaders = 100;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = char(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = char(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

// nullopt: a `%` without two digits.
std::optional<std::string> decoded(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += char(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

bool read_query(std::string_view text, HttpRequest& out) {
  while (!text.empty()) {
    const auto end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    const auto eq = std::min(pair.find('='), pair.size());
    const auto name = decoded(pair.substr(0, eq), true);
    const auto value = decoded(pair.substr(std::min(eq + 1, pair.size())), true);
    if (!name || !value) return false;
    out.query[*name] = *value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

bool is_token_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string::npos;
}

// `GET /path?query HTTP/1.1`. 0, or the status code of what is wrong.
int read_request_line(std::string_view line, HttpRequest& out) {
  const auto first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return 400;
  const std::string_view version = line.substr(last + 1), target = line.substr(first + 1, last - first - 1);
  if (!version.starts_with("HTTP/")) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  out.method = line.substr(0, first);
  if (out.method.empty() || !std::all_of(out.method.begin(), out.method.end(), is_token_character)) return 400;
  if (!target.starts_with('/')) return 400;
  if (std::any_of(target.begin(), target.end(), [](char c) { return c <= ' ' || c == 0x7f; })) return 400;
  const auto question = std::min(target.find('?'), target.size());
  auto path = decoded(target.substr(0, question), false);
  if (!path || !read_query(target.substr(std::min(question + 1, target.size())), out)) return 400;
  out.path = std::move(*path);
  out.keep_alive = version == "HTTP/1.1";
  return 0;
}

int read_header(std::string_view line, HttpRequest& out) {
  const auto colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return 400;
  const std::string_view name = line.substr(0, colon);
  if (!std::all_of(name.begin(), name.end(), is_token_character)) return 400;
  if (out.headers.size() >= kMostHeaders) return 431;
  // Two of one name: which one counts is a matter of opinion, which is how requests are smuggled.
  if (!out.headers.emplace(lower(name), trimmed(line.substr(colon + 1))).second) return 400;
  return 0;
}

// nullopt: not a length within the limit; `status` is the reason.
std::optional<std::size_t> body_length(const HttpRequest& request, int& status) {
  if (!request.header("transfer-encoding").empty()) return status = 501, std::nullopt;
  const std::string_view text = request.header("content-length");
  if (text.empty()) return 0;
  std::size_t length = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
  if (read.ec == std::errc::result_out_of_range) return status = 413, std::nullopt;
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return status = 400, std::nullopt;
  if (length > kMaxHttpBody) return status = 413, std::nullopt;
  return length;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
  }
  return "Error";
}

// The time it takes does not depend on where they differ.
bool is_same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? std::string_view() : it->second;
}

std::string_view HttpRequest::argument(std::string_view name) const {
  const auto it = query.find(name);
  return it == query.end() ? std::string_view() : it->second;
}

std::optional<HttpRequest> HttpReader::fail(int status) {
  problem_ = status;
  bytes_.clear();
  return std::nullopt;
}

std::optional<HttpRequest> HttpReader::next() {
  if (problem_ != 0) return std::nullopt;
  while (bytes_.starts_with("\r\n")) bytes_.erase(0, 2);
  const auto end = bytes_.find("\r\n\r\n");
  if (std::min(end, bytes_.size()) > kMaxHttpHead) return fail(431);
  if (end == std::string::npos) return std::nullopt;
  HttpRequest request;
  std::string_view head = std::string_view(bytes_).substr(0, end);
  bool first = true;
  while (!head.empty()) {
    const auto eol = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, eol);
    const int wrong = first ? read_request_line(line, request) : read_header(line, request);
    if (wrong != 0) return fail(wrong);
    first = false;
    head.remove_prefix(std::min(eol + 2, head.size()));
  }
  int status = 0;
  const auto length = body_length(request, status);
  if (!length) return fail(status);
  if (bytes_.size() - (end + 4) < *length) return std::nullopt;
  request.body = bytes_.substr(end + 4, *length);
  bytes_.erase(0, end + 4 + *length);
  const std::string connection = lower(request.header("connection"));
  if (connection == "close") request.keep_alive = false;
  return request;
}

HttpResponse http_error(int status, std::string_view why) {
  const nlohmann::ordered_json body{{"error", why}};
  return {status, "application/json", body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace), {}};
}

std::string to_bytes(const HttpResponse& response, bool keep_alive) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "Content-Security-Policy: {}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\nConnection: "
      "{}\r\n\r\n{}",
      response.status, reason_of(response.status), response.type, response.body.size(),
      response.policy.empty() ? "default-src 'none'; frame-ancestors 'none'" : response.policy,
      keep_alive ? "keep-alive" : "close", response.body);
}

int http_refusal(HttpRequest& request, const HttpAccess& access) {
  const std::string_view host = request.header("host");
  const std::string own = fmt::format("127.0.0.1:{}", access.port), named = fmt::format("localhost:{}", access.port);
  if (host != own && host != named) return 421;
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && origin != fmt::format("http://{}", host)) return 403;
  const std::string_view site = request.header("sec-fetch-site");
  if (!site.empty() && site != "same-origin" && site != "none") return 403;
  const auto slash = request.path.find('/', 1);
  const std::string_view path = request.path;
  if (slash == std::string::npos || !is_same_secret(path.substr(1, slash - 1), access.token)) return 403;
  if (request.method != "GET" && request.method != "POST") return 405;
  // A form of another site cannot send this type without asking first, which is never answered.
  if (request.method == "POST" && !request.header("content-type").starts_with("application/json")) return 415;
  request.path.erase(0, slash + 1);
  return 0;
}

}  // namespace rldb::protocol
