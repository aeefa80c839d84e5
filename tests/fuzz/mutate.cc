#include "fuzz/mutate.h"

#include <algorithm>
#include <cctype>

namespace rldb::fuzz {

namespace {

struct Range {
  std::size_t begin, end;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::vector<Range> tokens(std::string_view text) {
  std::vector<Range> out;
  for (std::size_t i = 0; i < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text[i] == '"') {
      while (end < text.size() && text[end] != '"' && text[end] != '\n') ++end;
      if (end < text.size()) ++end;
    }
    out.push_back({i, end});
    i = end;
  }
  return out;
}

std::vector<Range> lines(std::string_view text) {
  std::vector<Range> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto nl = text.find('\n', i);
    const std::size_t end = nl == std::string_view::npos ? text.size() : nl + 1;
    out.push_back({i, end});
    i = end;
  }
  return out;
}

std::size_t indent(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// A line and the lines indented below it.
Range block_at(std::string_view text, const std::vector<Range>& rows, std::size_t first) {
  const auto line = [&](std::size_t i) { return text.substr(rows[i].begin, rows[i].end - rows[i].begin); };
  const std::size_t depth = indent(line(first));
  std::size_t last = first;
  while (last + 1 < rows.size() && indent(line(last + 1)) > depth) ++last;
  return {rows[first].begin, rows[last].end};
}

// The same words at another depth.
std::string reindented(std::string_view block, std::size_t depth) {
  const std::size_t from = indent(block);
  std::string out;
  for (const Range& r : lines(block)) {
    const std::string_view line = block.substr(r.begin, r.end - r.begin);
    const std::size_t own = indent(line);
    out.append(depth + (own > from ? own - from : 0), ' ');
    out += line.substr(own);
  }
  return out;
}

constexpr const char* kOddTokens[] = {
    "0",
    "1",
    "-1",
    "2",
    "7",
    "2147483648",
    "9223372036854775807",
    "n",
    "m",
    "n + 1",
    "n * 2",
    "n // 2",
    "n % 3",
    "(n, m)",
    "float16",
    "bfloat16",
    "int64",
    "bool",
    "int8",
    "None",
    "True",
    "R.Tensor",
    "R.Tuple",
    "R.Shape",
    "R.Any",
    "R.Prim",
    "R.const(1)",
    "T.int64(1)",
    "()",
    "(x,)",
    "(x, x)",
    "R.tuple",
    "R.null_value",
    "R.shape",
    "x",
    "axis=0",
    "axis=-1",
    "axis=None",
    "axis=9",
    "inf",
    "nan",
    "1e400",
};

std::string pick_token(const Pool& pool, Rng& rng) {
  if (pool.empty() || below(rng, 3) == 0) return kOddTokens[below(rng, std::size(kOddTokens))];
  const std::string& from = pool[below(rng, pool.size())];
  const std::vector<Range> all = tokens(from);
  if (all.empty()) return "x";
  // One token, or a short run of them with the text between.
  const std::size_t i = below(rng, all.size());
  const std::size_t last = std::min(all.size() - 1, i + (below(rng, 3) == 0 ? below(rng, 12) : 0));
  return from.substr(all[i].begin, all[last].end - all[i].begin);
}

std::string mutate_tokens(std::string text, const Pool& pool, Rng& rng) {
  const std::vector<Range> all = tokens(text);
  if (all.empty()) return pick_token(pool, rng);
  const Range r = all[below(rng, all.size())];
  switch (below(rng, 5)) {
    case 0:
      return text.erase(r.begin, r.end - r.begin);
    case 1:
      return text.insert(r.end, " " + text.substr(r.begin, r.end - r.begin));
    case 2: {  // swapped with another token of the text
      const Range o = all[below(rng, all.size())];
      const std::string a = text.substr(r.begin, r.end - r.begin), b = text.substr(o.begin, o.end - o.begin);
      return text.replace(r.begin, r.end - r.begin, b == a ? pick_token(pool, rng) : b);
    }
    case 3:
      return text.replace(r.begin, r.end - r.begin, pick_token(pool, rng));
    default:
      return text.insert(r.begin, pick_token(pool, rng) + " ");
  }
}

std::string mutate_lines(std::string text, const Pool& pool, Rng& rng) {
  const std::vector<Range> rows = lines(text);
  if (rows.empty()) return text;
  const std::size_t at = below(rng, rows.size());
  const Range here = below(rng, 2) ? rows[at] : block_at(text, rows, at);
  const std::size_t depth = indent(std::string_view(text).substr(rows[at].begin, rows[at].end - rows[at].begin));
  switch (below(rng, 5)) {
    case 0:
      return text.erase(here.begin, here.end - here.begin);
    case 1:
      return text.insert(here.end, text.substr(here.begin, here.end - here.begin));
    case 2: {
      const std::size_t other = below(rng, rows.size());
      const std::string moved = text.substr(rows[other].begin, rows[other].end - rows[other].begin);
      return text.insert(here.begin, reindented(moved, depth));
    }
    default: {
      if (pool.empty()) return text;
      const std::string& from = pool[below(rng, pool.size())];
      const std::vector<Range> theirs = lines(from);
      if (theirs.empty()) return text;
      const std::size_t i = below(rng, theirs.size());
      const Range r = below(rng, 2) ? theirs[i] : block_at(from, theirs, i);
      const std::string piece = reindented(std::string_view(from).substr(r.begin, r.end - r.begin), depth);
      return below(rng, 2) ? text.insert(here.begin, piece) : text.replace(here.begin, here.end - here.begin, piece);
    }
  }
}

}  // namespace

std::string mutate_text(std::string text, const Pool& pool, Rng& rng) {
  const std::size_t times = 1 + below(rng, 4);
  for (std::size_t i = 0; i < times; ++i) {
    const std::size_t how = below(rng, 16);
    text = how == 0   ? mutate_bytes(std::move(text), pool, rng)
           : how <= 6 ? mutate_lines(std::move(text), pool, rng)
                      : mutate_tokens(std::move(text), pool, rng);
  }
  return text;
}

std::string mutate_bytes(std::string bytes, const Pool& pool, Rng& rng) {
  const std::size_t times = 1 + below(rng, 4);
  for (std::size_t i = 0; i < times; ++i) {
    const std::size_t at = below(rng, bytes.size() + 1);
    const std::size_t n = 1 + below(rng, below(rng, 4) ? 8 : 64);
    switch (below(rng, 6)) {
      case 0:
        if (at < bytes.size()) bytes[at] = char(bytes[at] ^ char(1U << below(rng, 8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = char(rng());
        break;
      case 2:
        bytes.erase(std::min(at, bytes.size()), n);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(rng, bytes.size() + 1), n));
        break;
      case 4: {  // a number of 4 or 8 bytes becomes an odd one
        static constexpr std::int64_t kOdd[] = {0,       -1, 1, 0x7fffffff, -0x80000000L, std::int64_t(1) << 40,
                                                1 << 20, 255};
        const std::int64_t v = kOdd[below(rng, std::size(kOdd))];
        const std::size_t width = below(rng, 2) ? 4 : 8;
        for (std::size_t b = 0; b < width && at + b < bytes.size(); ++b) bytes[at + b] = char(v >> (8 * b));
        break;
      }
      default:
        if (!pool.empty()) {
          const std::string& from = pool[below(rng, pool.size())];
          bytes.insert(at, from.substr(below(rng, from.size() + 1), n));
        }
    }
  }
  return bytes;
}

}  // namespace rldb::fuzz
