// TVMScript: the Python-shaped text language of TVM's Relax and TensorIR.
//
// Rules of this file:
//  * no entry in `conflicts`: nodes made while several parses are alive cannot be reused by an incremental parse;
//  * no supertypes: a hidden rule with one child costs no parse action, a supertype does;
//  * nodes are named by the language's concepts. Where a concept is decided by a few fixed characters (`@R.function`,
//    `with T.sblock`, `= T.axis.`), the external scanner looks ahead and emits a mark of width zero, so that the
//    grammar stays LR(1) and the header below the mark keeps its ordinary shape (call, attribute, identifier);
//  * a string is one token. Its prefix, quotes and escapes are the reader's business.

const PREC = {
  lambda: -2,
  conditional: -1,
  clause: 1,
  or: 10,
  and: 11,
  not: 12,
  compare: 13,
  compare_next: 14, // above `compare`: a further operator joins the chain, it does not nest it
  bit_or: 15,
  bit_xor: 16,
  bit_and: 17,
  shift: 18,
  sum: 19,
  product: 20,
  unary: 21,
  power: 22,
  postfix: 23,
};

const sep1 = (rule, separator) => seq(rule, repeat(seq(separator, rule)));
// What follows the colon of a header: an indented block, statements on the same line, or (of width zero) nothing; the
// last is an error for the reader to report. Line ends stay outside of the nodes.
const suite = ($, name) => choice(
  field(name, $.block),
  seq(field(name, alias($._inline_block, $.block)), $._newline),
  field(name, alias($._newline, $.block)),
);
const comma_list = (rule) => optional(seq(sep1(rule, ','), optional(',')));

// A run of string text: everything but the quote, the backslash and (in short strings) the line break.
const SHORT_DOUBLE = /([^"\\\r\n]|\\(\r\n|.|\r|\n))*/;
const SHORT_SINGLE = /([^'\\\r\n]|\\(\r\n|.|\r|\n))*/;
const LONG_DOUBLE = /([^"\\]|\\(.|\r|\n)|"([^"\\]|\\(.|\r|\n))|""([^"\\]|\\(.|\r|\n)))*/;
const LONG_SINGLE = /([^'\\]|\\(.|\r|\n)|'([^'\\]|\\(.|\r|\n))|''([^'\\]|\\(.|\r|\n)))*/;
const STRING_PREFIX = /[rRbBuUfF]?[rRbBfF]?/;

module.exports = grammar({
  name: 'tvmscript',

  // The order is the `enum Token` of src/scanner.c.
  externals: $ => [
    $._newline,
    $._group_newline,
    $._indent,
    $._dedent,
    $._base_indent,
    $._relax_mark,
    $._prim_mark,
    $._python_mark,
    $._macro_mark,
    $._dataflow_mark,
    $._sblock_mark,
    $._init_mark,
    $._axis_mark,
    $.missing_colon,
    $._error_sentinel,
  ],

  extras: $ => [
    /[\s\f]/,
    /\\\r?\n/,
    $.comment,
  ],

  inline: $ => [
    $._expressions,
    $._comparison_step,
    $._element,
    $._argument,
    $._parameter,
    $._target,
    $._annotated_target,
    $._bound,
    $._loop_target,
    $._condition,
    $._simple_statement,
    $._statement,
    $._statements,
    $._colon,
  ],

  rules: {
    // A file, and equally an entry at a prompt: any sequence of statements. Its indentation is that of its first line.
    source_file: $ => seq(optional($._base_indent), optional($._statements)),

    comment: _ => token(/#[^\r\n]*/),

    // ---------------------------------------------------------------- statements

    // Statements are held in groups of some lines, invisible in the tree. The runtime can reuse no node of a repetition
    // in an incremental parse (its reductions count as ambiguous), only the nodes repeated: with groups it visits
    // one node for some thirty lines and not one for each. A group ends at a line end that the scanner chooses by what
    // the next line says, not by counting, so that an inserted line changes its own group only.
    // (A group does not begin with a repetition, or it would count as ambiguous like it.)
    _statements: $ => choice(
      repeat1($._group),
      seq(repeat($._group), $._statement, repeat($._statement)),
    ),
    _group: $ => seq(
      optional(seq($._statement, repeat($._statement))),
      sep1($._simple_statement, ';'), optional(';'), $._group_newline,
    ),

    _statement: $ => choice(
      $._simple_line,
      $.module,
      $.relax_function,
      $.prim_func,
      $.python_function,
      $.macro_definition,
      $.function_definition,
      $.dataflow_block,
      $.sblock,
      $.init_block,
      $.with_statement,
      $.loop,
      $.while_loop,
      $.if_statement,
      $.try_statement,
      $.unexpected_indent,
    ),

    _simple_line: $ => seq(sep1($._simple_statement, ';'), optional(';'), $._newline),

    _simple_statement: $ => choice(
      $.binding,
      $.axis_binding,
      $.buffer_store,
      $.declaration,
      $.augmented_assignment,
      $.expression_statement,
      $.return_statement,
      $.assert_statement,
      $.pass_statement,
      $.break_statement,
      $.continue_statement,
      $.import_statement,
      $.import_from_statement,
      $.raise_statement,
      $.delete_statement,
      $.scope_statement,
    ),

    expression_statement: $ => field('value', choice($._expressions, $.yield)),

    // x = e, x: A = e, a, b = e, x = y = e (several targets)
    binding: $ => choice(
      seq(field('target', $._target), '=', $._bound),
      seq(field('target', $._annotated_target), ':', field('annotation', $._expression), '=', $._bound),
    ),

    // Further targets are read as expressions: if `y` of `x = y = e` were told from the value by the `=` after it, every
    // value would pay for the difference.
    _bound: $ => seq(
      repeat(seq(field('target', $._expressions), '=')),
      field('value', choice($._expressions, $.yield)),
    ),

    // vi = T.axis.spatial(n, i) and vi, vj = T.axis.remap("SR", [i, j])
    axis_binding: $ => choice(
      seq(field('target', $._target), '=', $._axis_mark, field('value', $._expressions)),
      seq(field('target', $._annotated_target), ':', field('annotation', $._expression), '=', $._axis_mark,
        field('value', $._expressions)),
    ),

    // B[i, j] = e
    buffer_store: $ => seq(
      field('target', $.subscript),
      optional(seq(':', field('annotation', $._expression))),
      '=',
      $._bound,
    ),

    // x: T.int32
    declaration: $ => seq(field('target', $._annotated_target), ':', field('annotation', $._expression)),

    augmented_assignment: $ => seq(
      field('target', choice($.identifier, $.attribute, $.subscript)),
      field('operator', choice('+=', '-=', '*=', '/=', '//=', '%=', '**=', '@=', '&=', '|=', '^=', '<<=', '>>=')),
      field('value', $._expressions),
    ),

    _annotated_target: $ => choice($.identifier, $.attribute),

    _target: $ => choice(
      $.identifier,
      $.attribute,
      $.tuple,
      $.list,
      $.parenthesized_expression,
      alias($._bare_tuple, $.tuple),
    ),

    return_statement: $ => seq('return', optional(field('value', $._expressions))),

    assert_statement: $ => seq(
      'assert',
      field('condition', $._expression),
      optional(seq(',', field('message', $._expression))),
    ),

    pass_statement: _ => 'pass',
    break_statement: _ => 'break',
    continue_statement: _ => 'continue',

    import_statement: $ => seq('import', sep1(field('name', choice($.dotted_name, $.aliased_import)), ',')),

    import_from_statement: $ => seq(
      'from',
      field('module', choice($.dotted_name, $.relative_import)),
      'import',
      choice(
        '*',
        sep1(field('name', choice($.dotted_name, $.aliased_import)), ','),
        seq('(', sep1(field('name', choice($.dotted_name, $.aliased_import)), ','), optional(','), ')'),
      ),
    ),

    relative_import: $ => seq(repeat1(choice('.', '...')), optional($.dotted_name)),
    dotted_name: $ => sep1($.identifier, '.'),
    aliased_import: $ => seq(field('name', $.dotted_name), 'as', field('alias', $.identifier)),

    raise_statement: $ => seq(
      'raise',
      optional(seq(field('value', $._expressions), optional(seq('from', field('cause', $._expression))))),
    ),

    delete_statement: $ => seq('del', field('value', $._expressions)),

    scope_statement: $ => seq(choice('global', 'nonlocal'), sep1(field('name', $.identifier), ',')),

    // The suite of a compound statement, see `suite` above.
    block: $ => seq($._indent, $._statements, $._dedent),
    _inline_block: $ => seq(sep1($._simple_statement, ';'), optional(';')),

    // Lines that are indented although no header asks for it. Python rejects them; so does the reader.
    unexpected_indent: $ => seq($._indent, $._statements, $._dedent),

    // The end of a header line. A line that should have one and has a deeper line below it is taken as if it had: of
    // width zero, for the reader to report, so that the mistake costs its own line and not the block.
    _colon: $ => choice(':', $.missing_colon),

    // ---------------------------------------------------------------- definitions

    module: $ => seq(
      repeat($._any_decorator),
      'class',
      field('name', $.identifier),
      optional(field('superclasses', $.arguments)),
      $._colon,
      suite($, 'body'),
    ),

    // The decorator next to `def` decides what a function is.
    relax_function: $ => seq(repeat($._any_decorator), $._relax_decorator_line, $._def),
    prim_func: $ => seq(repeat($._any_decorator), $._prim_decorator_line, $._def),
    python_function: $ => seq(repeat($._any_decorator), $._python_decorator_line, $._def),
    macro_definition: $ => seq(repeat($._any_decorator), $._macro_decorator_line, $._def),
    function_definition: $ => seq(optional(seq(repeat($._any_decorator), $._decorator_line)), $._def),

    _any_decorator: $ => choice(
      $._decorator_line,
      $._relax_decorator_line,
      $._prim_decorator_line,
      $._python_decorator_line,
      $._macro_decorator_line,
    ),
    _decorator_line: $ => seq(field('decorator', $.decorator), $._newline),
    _relax_decorator_line: $ => seq(field('decorator', alias($._relax_decorator, $.decorator)), $._newline),
    _prim_decorator_line: $ => seq(field('decorator', alias($._prim_decorator, $.decorator)), $._newline),
    _python_decorator_line: $ => seq(field('decorator', alias($._python_decorator, $.decorator)), $._newline),
    _macro_decorator_line: $ => seq(field('decorator', alias($._macro_decorator, $.decorator)), $._newline),

    decorator: $ => seq('@', field('value', $._expression)),
    _relax_decorator: $ => seq('@', $._relax_mark, field('value', $._expression)),
    _prim_decorator: $ => seq('@', $._prim_mark, field('value', $._expression)),
    _python_decorator: $ => seq('@', $._python_mark, field('value', $._expression)),
    _macro_decorator: $ => seq('@', $._macro_mark, field('value', $._expression)),

    _def: $ => seq(
      'def',
      field('name', $.identifier),
      optional(field('type_parameters', $.type_parameters)),
      field('parameters', $.parameters),
      optional(seq('->', field('return_type', $._expressions))),
      $._colon,
      suite($, 'body'),
    ),

    type_parameters: $ => seq('[', comma_list($.type_parameter), ']'),
    type_parameter: $ => seq(
      optional(choice('*', '**')),
      field('name', $.identifier),
      optional(seq(':', field('bound', $._expression))),
    ),

    parameters: $ => seq('(', comma_list($._parameter), ')'),

    _parameter: $ => choice(
      $.parameter,
      $.variadic_parameter,
      $.parameter_separator,
    ),

    parameter: $ => seq(
      field('name', $.identifier),
      optional(seq(':', field('annotation', $._expression))),
      optional(seq('=', field('default', $._expression))),
    ),

    // *args, **kwargs
    variadic_parameter: $ => seq(
      choice('*', '**'),
      field('name', $.identifier),
      optional(seq(':', field('annotation', $._expression))),
    ),

    parameter_separator: _ => choice('*', '/'),

    // ---------------------------------------------------------------- blocks and control flow

    dataflow_block: $ => seq('with', $._dataflow_mark, $._with_tail),
    sblock: $ => seq('with', $._sblock_mark, $._with_tail),
    init_block: $ => seq('with', $._init_mark, $._with_tail),
    with_statement: $ => seq('with', $._with_tail),

    _with_tail: $ => seq(sep1(field('item', $.with_item), ','), $._colon, suite($, 'body')),
    with_item: $ => seq(field('value', $._expression), optional(seq('as', field('alias', $._loop_target)))),

    loop: $ => seq(
      'for',
      field('target', choice($._loop_target, alias($._bare_loop_targets, $.tuple))),
      'in',
      field('iterator', $._expressions),
      $._colon,
      suite($, 'body'),
      optional(field('alternative', $.else_clause)),
    ),

    _loop_target: $ => choice(
      $.identifier,
      alias($._loop_target_tuple, $.tuple),
      alias($._loop_target_list, $.list),
      alias($._loop_target_splat, $.splat),
    ),
    // A name only: `for i, *js in e` would else read `js in e`.
    _loop_target_splat: $ => seq('*', field('value', $.identifier)),
    _loop_target_tuple: $ => seq('(', comma_list($._loop_target), ')'),
    _loop_target_list: $ => seq('[', comma_list($._loop_target), ']'),
    _bare_loop_targets: $ => seq($._loop_target, ',', comma_list($._loop_target)),

    while_loop: $ => seq(
      'while',
      field('condition', $._condition),
      $._colon,
      suite($, 'body'),
      optional(field('alternative', $.else_clause)),
    ),

    if_statement: $ => seq(
      'if',
      field('condition', $._condition),
      $._colon,
      suite($, 'consequence'),
      repeat(field('alternative', $.elif_clause)),
      optional(field('alternative', $.else_clause)),
    ),
    elif_clause: $ => seq('elif', field('condition', $._condition), $._colon, suite($, 'consequence')),
    else_clause: $ => seq('else', $._colon, suite($, 'body')),

    _condition: $ => choice($._expression, $.named_expression),

    try_statement: $ => seq(
      'try',
      $._colon,
      suite($, 'body'),
      repeat($.except_clause),
      optional($.else_clause),
      optional($.finally_clause),
    ),
    except_clause: $ => seq(
      'except',
      optional(seq(field('value', $._expression), optional(seq('as', field('alias', $.identifier))))),
      $._colon,
      suite($, 'body'),
    ),
    finally_clause: $ => seq('finally', $._colon, suite($, 'body')),

    // ---------------------------------------------------------------- expressions

    // What may stand on the right of `=`: one expression or several with commas, which are a tuple.
    _expressions: $ => choice($._expression, alias($._bare_tuple, $.tuple)),

    _bare_tuple: $ => seq($._element, ',', comma_list($._element)),

    _element: $ => choice($._expression, $.splat),

    // One flat rule, told apart by precedence: each layer between an operand and the whole would cost a parse action for
    // every operand in the text.
    _expression: $ => choice(
      $.identifier,
      $.attribute,
      $.call,
      $.subscript,
      $.integer,
      $.float,
      $.string,
      $.concatenated_string,
      $.unterminated_string,
      $.boolean,
      $.none,
      $.ellipsis,
      $.tuple,
      $.list,
      $.dictionary,
      $.set,
      $.parenthesized_expression,
      $.list_comprehension,
      $.set_comprehension,
      $.dictionary_comprehension,
      $.generator_expression,
      $.unary_expression,
      $.binary_expression,
      $.comparison,
      $.not_expression,
      $.logical_expression,
      $.conditional,
      $.lambda,
    ),

    logical_expression: $ => choice(
      prec.left(PREC.and, seq(field('left', $._expression), field('operator', 'and'), field('right', $._expression))),
      prec.left(PREC.or, seq(field('left', $._expression), field('operator', 'or'), field('right', $._expression))),
    ),

    not_expression: $ => prec(PREC.not, seq('not', field('operand', $._expression))),

    // a < b <= c is one node with three operands.
    comparison: $ => prec.right(PREC.compare, seq(field('operand', $._expression), $._comparison_tail)),
    // A further operator joins the chain, it does not nest it: the longer tail wins.
    _comparison_tail: $ => choice(
      prec.right(PREC.compare, seq($._comparison_step)),
      prec.right(PREC.compare_next, seq($._comparison_step, $._comparison_tail)),
    ),
    _comparison_step: $ => prec.right(PREC.compare, seq(
      field('operator', choice('<', '<=', '==', '!=', '>=', '>', 'in', $.not_in, 'is', $.is_not)),
      field('operand', $._expression),
    )),
    not_in: _ => seq('not', 'in'),
    is_not: _ => prec(PREC.unary, seq('is', 'not')),

    binary_expression: $ => choice(
      ...[
        ['|', PREC.bit_or],
        ['^', PREC.bit_xor],
        ['&', PREC.bit_and],
        ['<<', PREC.shift],
        ['>>', PREC.shift],
        ['+', PREC.sum],
        ['-', PREC.sum],
        ['*', PREC.product],
        ['/', PREC.product],
        ['//', PREC.product],
        ['%', PREC.product],
        ['@', PREC.product],
      ].map(([operator, level]) => prec.left(level, seq(
        field('left', $._expression), field('operator', operator), field('right', $._expression),
      ))),
      prec.right(PREC.power, seq(
        field('left', $._expression), field('operator', '**'), field('right', $._expression),
      )),
    ),

    unary_expression: $ => prec(PREC.unary, seq(
      field('operator', choice('-', '+', '~')),
      field('operand', $._expression),
    )),

    conditional: $ => prec.right(PREC.conditional, seq(
      field('consequence', $._expression),
      'if',
      field('condition', $._expression),
      'else',
      field('alternative', $._expression),
    )),

    lambda: $ => prec(PREC.lambda, seq(
      'lambda',
      optional(field('parameters', $.lambda_parameters)),
      ':',
      field('body', $._expression),
    )),
    lambda_parameters: $ => seq(
      sep1(choice(alias($._lambda_parameter, $.parameter), alias($._lambda_variadic, $.variadic_parameter), $.parameter_separator), ','),
      optional(','),
    ),
    _lambda_parameter: $ => seq(field('name', $.identifier), optional(seq('=', field('default', $._expression)))),
    _lambda_variadic: $ => seq(choice('*', '**'), field('name', $.identifier)),

    named_expression: $ => seq(field('name', $.identifier), ':=', field('value', $._expression)),

    yield: $ => seq('yield', optional(choice(seq('from', field('value', $._expression)), field('value', $._expressions)))),

    attribute: $ => prec(PREC.postfix, seq(field('object', $._expression), '.', field('attribute', $.identifier))),

    call: $ => prec(PREC.postfix, seq(
      field('function', $._expression),
      field('arguments', choice($.arguments, alias($.generator_expression, $.arguments))),
    )),

    arguments: $ => seq('(', comma_list($._argument), ')'),

    _argument: $ => choice(
      $._expression,
      $.keyword_argument,
      $.splat,
      $.dictionary_splat,
      $.named_expression,
    ),

    keyword_argument: $ => seq(field('name', $.identifier), '=', field('value', $._expression)),

    splat: $ => seq('*', field('value', $._expression)),
    dictionary_splat: $ => seq('**', field('value', $._expression)),

    // A[i, j], t[0], R.Tensor[(n, k), "float32"]: which of these it is, is not a matter of syntax.
    subscript: $ => prec(PREC.postfix, seq(
      field('object', $._expression),
      '[',
      sep1(field('index', choice($._expression, $.slice, $.splat)), ','),
      optional(','),
      ']',
    )),

    slice: $ => seq(
      optional(field('start', $._expression)),
      ':',
      optional(field('stop', $._expression)),
      optional(seq(':', optional(field('step', $._expression)))),
    ),

    parenthesized_expression: $ => seq('(', field('value', choice($._expression, $.named_expression, $.yield)), ')'),

    tuple: $ => choice(
      seq('(', ')'),
      seq('(', $._element, ',', comma_list($._element), ')'),
    ),

    list: $ => seq('[', comma_list($._element), ']'),

    set: $ => seq('{', sep1($._element, ','), optional(','), '}'),

    dictionary: $ => seq('{', comma_list(choice($.pair, $.dictionary_splat)), '}'),

    pair: $ => seq(field('key', $._expression), ':', field('value', $._expression)),

    list_comprehension: $ => seq('[', field('body', $._expression), $._clauses, ']'),
    set_comprehension: $ => seq('{', field('body', $._expression), $._clauses, '}'),
    dictionary_comprehension: $ => seq('{', field('body', $.pair), $._clauses, '}'),
    generator_expression: $ => seq('(', field('body', $._expression), $._clauses, ')'),

    _clauses: $ => seq($.for_clause, repeat(choice($.for_clause, $.if_clause))),
    for_clause: $ => prec.left(PREC.clause, seq(
      'for',
      field('target', choice($._loop_target, alias($._bare_loop_targets, $.tuple))),
      'in',
      field('iterator', $._expression),
    )),
    // An `if` after a clause is the comprehension's, not a conditional's.
    if_clause: $ => prec.left(PREC.clause, seq('if', field('condition', $._expression))),

    // ---------------------------------------------------------------- tokens

    concatenated_string: $ => seq($.string, repeat1($.string)),

    string: _ => token(seq(STRING_PREFIX, choice(
      seq('"""', LONG_DOUBLE, '"""'),
      seq("'''", LONG_SINGLE, "'''"),
      seq('"', SHORT_DOUBLE, '"'),
      seq("'", SHORT_SINGLE, "'"),
    ))),

    // A string that its line, or the file, ends before its quote. An error for the reader to report; being a node, it
    // does not take the next lines with it (a long one takes the rest of the file, as in Python).
    unterminated_string: _ => token(seq(STRING_PREFIX, choice(
      seq('"""', LONG_DOUBLE, /"{0,2}/),
      seq("'''", LONG_SINGLE, /'{0,2}/),
      seq('"', SHORT_DOUBLE),
      seq("'", SHORT_SINGLE),
    ))),

    integer: _ => token(choice(
      /[0-9](_?[0-9])*/,
      /0[xX](_?[0-9a-fA-F])+/,
      /0[oO](_?[0-7])+/,
      /0[bB](_?[01])+/,
    )),

    float: _ => token(choice(
      /[0-9](_?[0-9])*\.([0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?/,
      /\.[0-9](_?[0-9])*([eE][+-]?[0-9](_?[0-9])*)?/,
      /[0-9](_?[0-9])*[eE][+-]?[0-9](_?[0-9])*/,
      /[0-9](_?[0-9])*(\.[0-9_]*)?[jJ]/,
    )),

    boolean: _ => choice('True', 'False'),
    none: _ => 'None',
    ellipsis: _ => '...',

    // Ranges, not Unicode properties: a property costs a table search a character.
    identifier: _ => /([A-Za-z_]|[^\x00-\x7F])([A-Za-z0-9_]|[^\x00-\x7F])*/,
  },
});
