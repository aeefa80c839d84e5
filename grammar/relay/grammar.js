// Relay: the text format 0.0.5 of TVM's older graph language.
//
// Rules of this file:
//  * no entry in `conflicts`, no supertypes, as in the grammar of TVMScript beside this one;
//  * the grammar takes more than the language does where that lets a reader say what is wrong: a `match` as an operand, an `if`
//    without `else`, a projection of a call, `ref(T)` as a type. grammar/relay/README.md lists all of it;
//  * a dotted name is one token, so that `Nil.0` and `nn.relu` need no look ahead;
//  * comments nest, so the scanner reads them.

const PREC = {
  equality: 7,
  compare: 8,
  sum: 10,
  product: 12,
  call: 20,
};

// As TVM reads a list: the second comma and those after it may be missing.
const list = (rule) => optional(seq(rule, optional(seq(',', repeat(seq(rule, optional(',')))))));
const IDENTIFIER = /[A-Za-z_][A-Za-z_0-9\/]*/;

module.exports = grammar({
  name: 'relay',

  // The order is the `enum Token` of src/scanner.c.
  externals: $ => [
    $.comment,
    $.unterminated_comment,
    $._error_sentinel,
  ],

  extras: $ => [
    /[ \t\n]/,
    /\r\n/,
    $.comment,
    $.unterminated_comment,
  ],

  word: $ => $.identifier,

  inline: $ => [$._statement, $._binding, $._definition, $._name, $._dim],

  rules: {
    source_file: $ => seq(
      optional(field('version', choice($.version, $.old_version))),
      repeat($._definition),
      optional(field('body', $._body)),
      optional($.metadata),
    ),

    version: _ => token(/#\[version[ \t]*=[ \t]*"[^"\n]*"\]/),
    old_version: _ => token(/v0\.0\.[0-9]+/),
    metadata: _ => token(/#\[metadata\](.|\n|\r)*/),

    // ---------------------------------------------------------------- definitions

    _definition: $ => choice($.function_definition, $.type_definition),

    function_definition: $ => seq('def', field('name', $.global), $._function_rest),

    type_definition: $ => prec.right(seq(
      optional(field('extern', 'extern')),
      'type',
      field('name', $.identifier),
      optional(field('type_parameters', $.type_parameters)),
      optional(field('body', $.constructors)),
    )),
    constructors: $ => seq('{', list($.constructor), '}'),
    constructor: $ => seq(field('name', $.identifier), optional(seq('(', list($._type), ')'))),

    _function_rest: $ => seq(
      optional(field('type_parameters', $.type_parameters)),
      field('parameters', $.parameters),
      optional(seq('->', field('return_type', $._type))),
      '{', field('body', $._body), '}',
    ),
    type_parameters: $ => seq('[', list($.identifier), ']'),
    parameters: $ => seq('(', list(choice($.parameter, $.attribute)), ')'),
    parameter: $ => seq(
      field('name', $.local),
      optional(seq('{', list($.attribute), '}')),
      optional(seq(':', field('type', $._type))),
    ),

    // ---------------------------------------------------------------- sequences

    _body: $ => choice($._expression, $.sequence),
    sequence: $ => prec.right(choice(
      seq(repeat1(seq($._statement, ';')), optional($._statement)),
      $._binding,
    )),
    _statement: $ => choice($._binding, $._expression),
    _binding: $ => choice($.let_binding, $.graph_binding, $.free_variable),

    let_binding: $ => seq(
      'let',
      field('name', choice($.local, $.identifier)),
      optional(seq(':', field('type', $._type))),
      '=',
      field('value', $._expression),
    ),
    graph_binding: $ => seq(field('name', $.graph), '=', field('value', $._expression)),
    free_variable: $ => seq('free_var', field('name', $.local), optional(seq(':', field('type', $._type)))),

    // ---------------------------------------------------------------- expressions

    _expression: $ => choice($.binary_expression, $._postfix),

    binary_expression: $ => choice(
      ...[
        ['*', PREC.product], ['/', PREC.product],
        ['+', PREC.sum], ['-', PREC.sum],
        ['<', PREC.compare], ['>', PREC.compare], ['<=', PREC.compare], ['>=', PREC.compare],
        ['==', PREC.equality], ['!=', PREC.equality],
      ].map(([operator, level]) => prec.left(level, seq(
        field('left', $._expression), field('operator', operator), field('right', $._expression)))),
    ),

    _postfix: $ => choice(
      $.call,
      $.projection,
      $.number,
      $.boolean,
      $.string,
      $.list,
      $.local,
      $.global,
      $.graph,
      $.meta,
      $.name,
      $.function,
      $.if_expression,
      $.match_expression,
      $.ref,
      $.ref_read,
      $.ref_write,
      $.parenthesized_expression,
      $.tuple,
      $.block,
    ),

    call: $ => prec(PREC.call, seq(field('function', $._postfix), field('arguments', $.arguments))),
    arguments: $ => seq('(', list(choice($._body, $.attribute)), ')'),
    attribute: $ => seq(field('name', $._name), '=', field('value', $._expression)),
    projection: $ => seq(field('object', $._postfix), '.', field('index', $.number)),

    function: $ => seq('fn', $._function_rest),
    block: $ => seq('{', field('body', $._body), '}'),
    if_expression: $ => prec.right(seq(
      'if', field('condition', $._postfix),
      field('consequence', $.block),
      optional(seq('else', field('alternative', $.block))),
    )),

    match_expression: $ => seq(
      field('kind', choice('match', 'match?')),
      field('value', $._postfix),
      '{', list($.arm), '}',
    ),
    arm: $ => seq(field('pattern', $._pattern), '=>', field('body', $._body)),
    _pattern: $ => choice($.wildcard, $.variable_pattern, $.constructor_pattern, $.tuple_pattern),
    wildcard: _ => '_',
    variable_pattern: $ => seq(field('name', $.local), optional(seq(':', field('type', $._type)))),
    constructor_pattern: $ => prec.right(seq(field('name', $.identifier), optional(seq('(', list($._pattern), ')')))),
    tuple_pattern: $ => seq('(', list($._pattern), ')'),

    ref: $ => seq('ref', '(', field('value', $._body), ')'),
    ref_read: $ => seq('ref_read', '(', field('value', $._body), ')'),
    ref_write: $ => seq('ref_write', '(', field('reference', $._body), ',', field('value', $._body), ')'),

    parenthesized_expression: $ => seq('(', field('value', $._body), ')'),
    tuple: $ => choice(
      seq('(', ')'),
      seq('(', $._body, ',', repeat(seq($._body, optional(','))), ')'),
    ),
    list: $ => seq('[', list($._expression), ']'),

    // ---------------------------------------------------------------- types

    _type: $ => choice(
      $.tensor_type,
      $.tuple_type,
      $.function_type,
      $.reference_type,
      $.incomplete_type,
      $.named_type,
    ),
    tensor_type: $ => seq('Tensor', '[', field('shape', $.shape), ',', field('dtype', $.identifier), ']'),
    shape: $ => seq('(', list($._dim), ')'),
    _dim: $ => choice($.number, $.any_dim, $.meta, $.identifier),
    any_dim: _ => '?',
    tuple_type: $ => seq('(', list($._type), ')'),
    function_type: $ => seq(
      'fn', optional(field('type_parameters', $.type_parameters)),
      '(', list($._type), ')', '->', field('return_type', $._type),
    ),
    reference_type: $ => seq('ref', '(', field('value', $._type), ')'),
    incomplete_type: _ => '_',
    named_type: $ => prec.right(seq(field('name', $.identifier), optional(seq('[', list($._type), ']')))),

    // ---------------------------------------------------------------- tokens

    // Every sign and digit that follows belongs to it: `1-2` is one bad number.
    number: _ => token(prec(1, choice(
      /-*[0-9][0-9.eE+\-]*([fi][0-9.eE+\-]*)?/,
      /-*inff/,
    ))),
    boolean: _ => choice('True', 'False'),
    string: _ => token(/"[^"]*"/),
    local: _ => token(/%[A-Za-z_\/][A-Za-z_0-9\/]*/),
    graph: _ => token(/%[0-9]+/),
    global: _ => token(/@[A-Za-z_\/][A-Za-z_0-9\/]*/),
    meta: _ => token(/meta\[[^\]\n]*\]\[[0-9]*\]/),

    _name: $ => choice($.identifier, $.dotted_name),
    name: $ => $._name,
    identifier: _ => token(IDENTIFIER),
    dotted_name: _ => token(/[A-Za-z_][A-Za-z_0-9\/]*([ \t\n]*\.[ \t\n]*[A-Za-z_][A-Za-z_0-9\/]*)+/),
  },
});
