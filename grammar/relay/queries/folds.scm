[
  (function_definition)
  (type_definition)
  (function)
  (if_expression)
  (match_expression)
  (block)
  (arguments)
  (tuple)
  (metadata)
] @fold
