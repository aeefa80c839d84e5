// External scanner of the TVMScript grammar: line ends, indentation, and marks.
//
// The parser asks only where a newline, an indent, a dedent or a mark is grammatical. A mark has width zero and says
// what the characters ahead begin ("with T.sblock", "@R.function"); it lets the grammar name its nodes without
// conflicts.
//
// Invariants:
//  * state is the stack of indentations, at most kMaxDepth deep, so it always fits the 1024 bytes that tree-sitter
//    gives for it; deeper blocks are not opened (the text then does not parse, nothing overflows);
//  * no state outlives a token, nothing is allocated but the state itself, no recursion;
//  * in error recovery only a token that makes progress is returned: one with characters in it, or one that changes the
//    stack.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tree_sitter/parser.h"

// The order is that of `externals` in grammar.js.
enum Token {
  NEWLINE,
  GROUP_NEWLINE,
  INDENT,
  DEDENT,
  BASE_INDENT,
  RELAX_MARK,
  PRIM_MARK,
  PYTHON_MARK,
  MACRO_MARK,
  DATAFLOW_MARK,
  SBLOCK_MARK,
  INIT_MARK,
  AXIS_MARK,
  MISSING_COLON,
  ERROR_SENTINEL,
};

enum { kMaxDepth = 500, kMaxIndent = 0xffff, kTabWidth = 8, kMaxMark = 32, kGroupLines = 32, kComments = 64 };

// levels[0 .. depth) are the indentations of the open blocks; below them lies `base`, that of the first line.
typedef struct {
  uint16_t base;
  uint16_t depth;
  uint16_t levels[kMaxDepth];
} Scanner;

_Static_assert(sizeof(uint16_t) * (kMaxDepth + 1) <= TREE_SITTER_SERIALIZATION_BUFFER_SIZE,
               "the whole state must fit the serialisation buffer");

static uint32_t current_level(const Scanner* scanner) {
  return scanner->depth == 0 ? scanner->base : scanner->levels[scanner->depth - 1];
}

static void advance(TSLexer* lexer) { lexer->advance(lexer, false); }

static bool at_line_end(const TSLexer* lexer) { return lexer->lookahead == '\n' || lexer->lookahead == '\r'; }

static bool is_name_char(int32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

// Skips blanks and joined lines; false when a backslash stands there that joins nothing.
static bool skip_blanks(TSLexer* lexer) {
  for (;;) {
    switch (lexer->lookahead) {
      case ' ':
      case '\t':
      case '\f':
      case '\v':
        lexer->advance(lexer, true);
        break;
      case '\\':
        lexer->advance(lexer, true);
        if (lexer->lookahead == '\r') lexer->advance(lexer, true);
        if (lexer->lookahead != '\n') return false;
        lexer->advance(lexer, true);
        break;
      default:
        return true;
    }
  }
}

typedef struct {
  uint32_t indent;          // of the next line of code; 0 at the end of the file
  bool comment_first;       // a comment line comes before that line ...
  uint32_t comment_indent;  // ... with this indentation
  bool code;                // there is a line of code
} NextLine;

// Where find_next_line ends the token: where it started, or at the next line of code if that has the indentation asked
// for and no comment comes first.
enum TokenEnd { END_HERE, END_AT_SAME_LEVEL, END_AT_DEEPER_LEVEL };

// From a line end to the first character of the next line of code. `skip`: the characters passed are not of the token.
// At most `comments` lines of comment are looked through: callers that would look again after each of many comments
// pass few, lest the work grow with the square.
static NextLine find_next_line(TSLexer* lexer, uint32_t level, enum TokenEnd end, bool skip, uint32_t comments) {
  NextLine next = {0, false, 0, false};
  uint32_t indent = 0;
  for (;;) {
    switch (lexer->lookahead) {
      case '\n':
      case '\r':
      case '\f':
        indent = 0;
        lexer->advance(lexer, skip);
        continue;
      case ' ':
        if (indent < kMaxIndent) indent++;
        lexer->advance(lexer, skip);
        continue;
      case '\t':
        indent = (indent / kTabWidth + 1) * kTabWidth;
        if (indent > kMaxIndent) indent = kMaxIndent;
        lexer->advance(lexer, skip);
        continue;
      case '#':
        if (!next.comment_first) {
          next.comment_first = true;
          next.comment_indent = indent;
        }
        if (comments-- == 0) return next;
        while (!at_line_end(lexer) && !lexer->eof(lexer)) lexer->advance(lexer, skip);
        continue;
      default:
        if (lexer->eof(lexer)) return next;
        next.indent = indent;
        next.code = true;
        bool wanted = (end == END_AT_SAME_LEVEL && indent == level) || (end == END_AT_DEEPER_LEVEL && indent > level);
        if (wanted && !next.comment_first) lexer->mark_end(lexer);
        return next;
    }
  }
}

static bool emit(TSLexer* lexer, enum Token token) {
  lexer->result_symbol = (TSSymbol)token;
  return true;
}

// ---------------------------------------------------------------- marks

typedef struct {
  const char* text;
  enum Token token;
} Mark;

// clang-format off
static const Mark kDecoratorMarks[] = {
    {"R.function", RELAX_MARK},
    {"R.func", RELAX_MARK},
    {"relax.function", RELAX_MARK},
    {"tvm.script.relax.function", RELAX_MARK},
    {"T.prim_func", PRIM_MARK},
    {"tir.prim_func", PRIM_MARK},
    {"tirx.prim_func", PRIM_MARK},
    {"tvm.script.tir.prim_func", PRIM_MARK},
    {"I.pyfunc", PYTHON_MARK},
    {"R.macro", MACRO_MARK},
    {"T.macro", MACRO_MARK},
    {"T.inline", MACRO_MARK},
    {NULL, ERROR_SENTINEL},
};

static const Mark kWithMarks[] = {
    {"R.dataflow", DATAFLOW_MARK},
    {"relax.dataflow", DATAFLOW_MARK},
    {"T.sblock", SBLOCK_MARK},
    {"T.block", SBLOCK_MARK},
    {"T.init", INIT_MARK},
    {NULL, ERROR_SENTINEL},
};
// clang-format on

// Reads the dotted name ahead, without taking it, and looks it up.
static bool scan_mark(TSLexer* lexer, const Mark* marks) {
  char name[kMaxMark + 1];
  size_t length = 0;
  lexer->mark_end(lexer);
  while (length < kMaxMark && lexer->lookahead < 0x80 && (is_name_char(lexer->lookahead) || lexer->lookahead == '.')) {
    name[length++] = (char)lexer->lookahead;
    advance(lexer);
  }
  name[length] = '\0';
  for (; marks->text; marks++) {
    if (strcmp(name, marks->text) == 0) return emit(lexer, marks->token);
  }
  return false;
}

// The value of a binding: an axis? Most are not, so look no further than needed.
static bool scan_axis_mark(TSLexer* lexer) {
  lexer->mark_end(lexer);
  for (const char* c = "T.axis."; *c; c++) {
    if (lexer->lookahead != *c) return false;
    advance(lexer);
  }
  return emit(lexer, AXIS_MARK);
}

// ---------------------------------------------------------------- lines

static bool push_level(Scanner* scanner, uint32_t indent) {
  if (scanner->depth == kMaxDepth) return false;
  scanner->levels[scanner->depth++] = (uint16_t)indent;
  return true;
}

static bool is_closer(int32_t c) { return c == ')' || c == ']' || c == '}'; }

// The parser recovers from an error: a line that may begin a statement ends the damage. A deeper line may be the rest
// of the broken one.
static bool scan_recovery(Scanner* scanner, TSLexer* lexer) {
  if (!at_line_end(lexer) && !lexer->eof(lexer)) return false;
  uint32_t level = current_level(scanner);
  lexer->mark_end(lexer);
  if (at_line_end(lexer)) advance(lexer);
  NextLine next = find_next_line(lexer, level, END_HERE, false, 0);
  if (next.indent < level && scanner->depth > 0) {
    scanner->depth--;
    return emit(lexer, DEDENT);
  }
  if (!next.code || next.indent > level || is_closer(lexer->lookahead)) return false;
  if (!next.comment_first) lexer->mark_end(lexer);
  return !next.comment_first && emit(lexer, NEWLINE);
}

// Before the first line of code: its indentation is that of the whole text.
static bool scan_base(Scanner* scanner, TSLexer* lexer) {
  lexer->mark_end(lexer);
  uint32_t indent = at_line_end(lexer) ? find_next_line(lexer, 0, END_HERE, true, 0).indent : lexer->get_column(lexer);
  if (indent == 0) return false;
  scanner->base = (uint16_t)(indent < kMaxIndent ? indent : kMaxIndent);
  return emit(lexer, BASE_INDENT);
}

// Whether a group of lines ends before the line ahead: for one line in kGroupLines, chosen by its first name.
static bool group_ends_before(TSLexer* lexer) {
  uint32_t hash = 2166136261u;
  for (int i = 0; i < kMaxMark && is_name_char(lexer->lookahead); i++) {
    hash = (hash ^ (uint32_t)lexer->lookahead) * 16777619u;
    advance(lexer);
  }
  return (hash ^ hash >> 15) % kGroupLines == 0;
}

// At a line end where the end of a statement is expected. When the next line is of the same block, the token takes that
// line's indentation along, so that it is not scanned twice more; else it has no width, and a block ends where its text
// ends.
static bool scan_statement_end(Scanner* scanner, TSLexer* lexer, const bool* valid) {
  uint32_t level = current_level(scanner);
  lexer->mark_end(lexer);
  if (lexer->eof(lexer)) return emit(lexer, NEWLINE);
  NextLine next = find_next_line(lexer, level, END_AT_SAME_LEVEL, false, 0);
  bool same_block = next.code && next.indent == level;
  return emit(lexer, valid[GROUP_NEWLINE] && same_block && group_ends_before(lexer) ? GROUP_NEWLINE : NEWLINE);
}

// At a line end after the colon of a header: a block, or none.
static bool scan_block_start(Scanner* scanner, TSLexer* lexer) {
  uint32_t level = current_level(scanner);
  lexer->mark_end(lexer);
  NextLine next = find_next_line(lexer, level, END_AT_DEEPER_LEVEL, true, UINT32_MAX);
  if (next.code && next.indent > level && push_level(scanner, next.indent)) return emit(lexer, INDENT);
  return emit(lexer, NEWLINE);
}

// At a line end where a header wants its colon: a deeper line says that the colon was forgotten.
static bool scan_missing_colon(const Scanner* scanner, TSLexer* lexer) {
  uint32_t level = current_level(scanner);
  lexer->mark_end(lexer);
  NextLine next = find_next_line(lexer, level, END_HERE, false, kComments);
  return next.code && next.indent > level && emit(lexer, MISSING_COLON);
}

// At a line end before a statement: the block ends, or a deeper line begins one that nothing asks for. A comment that
// is indented like the block belongs to it.
static bool scan_indentation(Scanner* scanner, TSLexer* lexer, const bool* valid) {
  uint32_t level = current_level(scanner);
  lexer->mark_end(lexer);
  NextLine next = find_next_line(lexer, level, END_HERE, true, 0);
  if (next.comment_first) {
    if (next.comment_indent >= level || scanner->depth == 0) return false;
    next = find_next_line(lexer, level, END_HERE, true, kComments);
    if (!next.code && !lexer->eof(lexer)) return false;
    next.comment_first = true;
  }
  if (valid[INDENT] && next.code && next.indent > level && !next.comment_first && push_level(scanner, next.indent)) {
    return emit(lexer, INDENT);
  }
  if (valid[DEDENT] && next.indent < level && scanner->depth > 0) {
    scanner->depth--;
    return emit(lexer, DEDENT);
  }
  return false;
}

bool tree_sitter_tvmscript_external_scanner_scan(void* payload, TSLexer* lexer, const bool* valid) {
  Scanner* scanner = payload;
  if (!skip_blanks(lexer)) return false;
  if (valid[ERROR_SENTINEL]) return scan_recovery(scanner, lexer);
  bool line_ends = at_line_end(lexer) || lexer->eof(lexer);
  if (valid[BASE_INDENT] && lexer->lookahead != '#' && !lexer->eof(lexer)) return scan_base(scanner, lexer);
  if (line_ends) {
    if (valid[MISSING_COLON]) return scan_missing_colon(scanner, lexer);
    if (valid[INDENT] && valid[NEWLINE]) return scan_block_start(scanner, lexer);
    if (valid[INDENT] || valid[DEDENT]) return scan_indentation(scanner, lexer, valid);
    return valid[NEWLINE] && scan_statement_end(scanner, lexer, valid);
  }
  if (valid[RELAX_MARK]) return scan_mark(lexer, kDecoratorMarks);
  if (valid[DATAFLOW_MARK]) return scan_mark(lexer, kWithMarks);
  if (valid[AXIS_MARK]) return scan_axis_mark(lexer);
  return false;
}

// ---------------------------------------------------------------- life and state

void* tree_sitter_tvmscript_external_scanner_create(void) { return calloc(1, sizeof(Scanner)); }

void tree_sitter_tvmscript_external_scanner_destroy(void* payload) { free(payload); }

unsigned tree_sitter_tvmscript_external_scanner_serialize(void* payload, char* buffer) {
  const Scanner* scanner = payload;
  if (scanner->base == 0 && scanner->depth == 0) return 0;
  size_t levels = scanner->depth * sizeof scanner->levels[0];
  memcpy(buffer, &scanner->base, sizeof scanner->base);
  memcpy(buffer + sizeof scanner->base, scanner->levels, levels);
  return (unsigned)(sizeof scanner->base + levels);
}

void tree_sitter_tvmscript_external_scanner_deserialize(void* payload, const char* buffer, unsigned length) {
  Scanner* scanner = payload;
  scanner->base = 0;
  scanner->depth = 0;
  if (length < sizeof scanner->base) return;
  size_t levels = length - sizeof scanner->base;
  if (levels > sizeof scanner->levels) levels = sizeof scanner->levels;
  memcpy(&scanner->base, buffer, sizeof scanner->base);
  memcpy(scanner->levels, buffer + sizeof scanner->base, levels);
  scanner->depth = (uint16_t)(levels / sizeof scanner->levels[0]);
}
