// See limits.h. Counts, from above, the entries that the parser's stack may hold at each point of the text.

#include "limits.h"

#include <stdint.h>
#include <string.h>

typedef struct {
  const char* text;
  size_t size;
  size_t at;
} Reader;

static bool sees(const Reader* reader, const char* word) {
  size_t length = strlen(word);
  return reader->size - reader->at >= length && memcmp(reader->text + reader->at, word, length) == 0;
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
         (unsigned char)c >= 0x80;
}

static void skip_block_comment(Reader* reader) {
  size_t depth = 0;
  while (reader->at < reader->size) {
    if (sees(reader, "/*")) {
      depth++;
      reader->at += 2;
    } else if (sees(reader, "*/")) {
      reader->at += 2;
      if (--depth == 0) return;
    } else {
      reader->at++;
    }
  }
}

// Past a comment, when there is one.
static bool skip_comment(Reader* reader) {
  if (sees(reader, "//")) {
    while (reader->at < reader->size && reader->text[reader->at] != '\n') reader->at++;
    return true;
  }
  if (!sees(reader, "/*")) return false;
  skip_block_comment(reader);
  return true;
}

static void skip_token(Reader* reader) {
  char first = reader->text[reader->at++];
  if (first == '"') {
    while (reader->at < reader->size && reader->text[reader->at] != '"') reader->at++;
    if (reader->at < reader->size) reader->at++;
  } else if (is_word(first) || first == '%' || first == '@') {
    while (reader->at < reader->size && is_word(reader->text[reader->at])) reader->at++;
  }
}

bool tree_sitter_relay_within_limits(const char* text, size_t size, size_t* offset) {
  Reader reader = {text, size, 0};
  // What was pending when each open bracket opened.
  uint32_t outer[kRelayMaxDepth];
  uint32_t depth = 0, pending = 0, comments = 0;
  bool definition = false;  // what is pending outside of brackets began with the word of a definition
  while (reader.at < size) {
    size_t start = reader.at;
    char c = text[start];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      reader.at++;
      continue;
    }
    if (sees(&reader, "#[metadata]")) return true;  // one token, to the end
    if (skip_comment(&reader)) {
      comments++;
    } else {
      comments = 0;
      if (pending == 0) definition = sees(&reader, "def") || sees(&reader, "type");
      pending++;
      skip_token(&reader);
      if (c == '(' || c == '[' || c == '{') {
        if (depth < kRelayMaxDepth) outer[depth] = pending;
        depth++;
      } else if ((c == ')' || c == ']' || c == '}') && depth > 0) {
        // A definition is whole when its body is.
        pending = --depth == 0 && c == '}' && definition ? 0 : outer[depth];
      } else if (c == ',' || c == ';') {
        pending = depth > 0 ? outer[depth - 1] + 1 : 0;
      }
    }
    if (depth >= kRelayMaxDepth || pending > kRelayMaxPending || comments > kRelayMaxPending) {
      if (offset) *offset = start;
      return false;
    }
  }
  return true;
}
