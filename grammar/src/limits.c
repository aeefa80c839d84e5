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

// Characters by what they begin: every text is looked through before it is parsed, so this is to be quick.
enum Class { OTHER, BLANK, WORD, LINE_END, QUOTE, OPENING, CLOSING, COMMA, HASH, BACKSLASH };

#define O OTHER
#define B BLANK
#define W WORD
#define N LINE_END
#define Q QUOTE
// clang-format off
static const uint8_t kClass[128] = {
    O, O, O, O, O, O, O, O, O, B, N, B, B, N, O, O,
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O,
    B, O, Q, HASH, O, O, O, Q, OPENING, CLOSING, O, O, COMMA, O, O, O,
    W, W, W, W, W, W, W, W, W, W, O, O, O, O, O, O,
    O, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, OPENING, BACKSLASH, CLOSING, O, W,
    O, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W,
    W, W, W, W, W, W, W, W, W, W, W, OPENING, O, CLOSING, O, O,
};
// clang-format on
#undef O
#undef B
#undef W
#undef N
#undef Q

static enum Class class_of(char c) {
  unsigned char u = (unsigned char)c;
  return u >= 0x80 ? WORD : (enum Class)kClass[u];
}

static void skip_class(Reader* reader, enum Class class) {
  size_t at = reader->at;
  while (at < reader->size && class_of(reader->text[at]) == class) at++;
  reader->at = at;
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
    enum Class class = class_of(text[start]);
    switch (class) {
      case BLANK:
        skip_class(&reader, BLANK);
        continue;
      case LINE_END:
        reader.at++;
        if (depth == 0) pending = 0;
        continue;
      case BACKSLASH: {
        int next = peek(&reader, 1);
        if (next == '\n' || next == '\r') {
          reader.at += next == '\r' && peek(&reader, 2) == '\n' ? 3 : 2;
          continue;
        }
        reader.at++;
        break;
      }
      case HASH:
        while (reader.at < size && text[reader.at] != '\n' && text[reader.at] != '\r') reader.at++;
        comments++;
        break;
      case QUOTE:
        skip_string(&reader);
        break;
      case WORD:
        skip_class(&reader, WORD);
        break;
      case OTHER:
      case OPENING:
      case CLOSING:
      case COMMA:
        reader.at++;
        break;
    }
    if (class != HASH) comments = 0;
    pending++;
    if (class == OPENING) {
      if (depth < kTvmscriptMaxDepth) outer[depth] = pending;
      depth++;
    } else if (class == CLOSING && depth > 0) {
      pending = outer[--depth];
    } else if (class == COMMA) {
      pending = depth > 0 ? outer[depth - 1] + 1 : 0;
    }
    if (depth >= kTvmscriptMaxDepth || pending > kTvmscriptMaxPending || comments > kTvmscriptMaxPending) {
      if (offset) *offset = start;
      return false;
    }
  }
  return true;
}
