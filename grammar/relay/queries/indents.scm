[
  (function_definition)
  (type_definition)
  (function)
  (match_expression)
  (block)
  (arguments)
  (parameters)
  (tuple)
  (parenthesized_expression)
  (list)
] @indent.begin

[")" "]" "}"] @indent.branch @indent.end
