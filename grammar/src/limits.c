// See limits.h. Counts, from above, the entries that the parser's stack may hold at each point of the text: every token
// is one entry until something completes the list element, the bracket or the line that it is in.

#include "limits.h"

#include <stdint.h>

typedef struct {
  const char* text;
  size_t size;
  size_t at;
} Reader;

static int peek(const Reader* reader, size_t ahead) {
  return reader->at + ahead < reader->size ? (unsigned char)reader->text[reader->at + ahead] : -1;
}

static bool is_word(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

// From the opening quote past the string: to its end, or to the end of the line or the text where it has none.
static void skip_string(Reader* reader) {
  int quote = peek(reader, 0);
  bool is_long = peek(reader, 1) == quote && peek(reader, 2) == quote;
  reader->at += is_long ? 3 : 1;
  while (reader->at < reader->size) {
    int c = peek(reader, 0);
    if (c == '\\') {
      reader->at += 2;
    } else if (is_long ? c == quote && peek(reader, 1) == quote && peek(reader, 2) == quote : c == quote) {
      reader->at += is_long ? 3 : 1;
      return;
    } else if (!is_long && (c == '\n' || c == '\r')) {
      return;
    } else {
      reader->at++;
    }
  }
}

bool tree_sitter_tvmscript_within_limits(const char* text, size_t size, size_t* offset) {
  Reader reader = {text, size, 0};
  // What was pending when each open bracket opened.
  uint32_t outer[kTvmscriptMaxDepth];
  uint32_t depth = 0, pending = 0, comments = 0;
  while (reader.at < size) {
    size_t start = reader.at;
    int c = peek(&reader, 0);
    if (c == ' ' || c == '\t' || c == '\f' || c == '\v') {
      reader.at++;
      continue;
    }
    if (c == '\n' || c == '\r') {
      reader.at++;
      if (depth == 0) pending = 0;
      continue;
    }
    if (c == '\\' && (peek(&reader, 1) == '\n' || peek(&reader, 1) == '\r')) {
      reader.at += peek(&reader, 1) == '\r' && peek(&reader, 2) == '\n' ? 3 : 2;
      continue;
    }
    if (c == '#') {
      while (reader.at < size && text[reader.at] != '\n' && text[reader.at] != '\r') reader.at++;
      comments++;
    } else if (c == '"' || c == '\'') {
      skip_string(&reader);
    } else if (is_word(c)) {
      while (is_word(peek(&reader, 0))) reader.at++;
    } else {
      reader.at++;
    }
    if (c != '#') comments = 0;
    pending++;
    if (c == '(' || c == '[' || c == '{') {
      if (depth < kTvmscriptMaxDepth) outer[depth] = pending;
      depth++;
    } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
      pending = outer[--depth];
    } else if (c == ',') {
      pending = depth > 0 ? outer[depth - 1] + 1 : 0;
    }
    if (depth >= kTvmscriptMaxDepth || pending > kTvmscriptMaxPending || comments > kTvmscriptMaxPending) {
      if (offset) *offset = start;
      return false;
    }
  }
  return true;
}
