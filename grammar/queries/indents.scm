[
  (module)
  (relax_function)
  (prim_func)
  (python_function)
  (macro_definition)
  (function_definition)
  (dataflow_block)
  (sblock)
  (init_block)
  (with_statement)
  (loop)
  (while_loop)
  (if_statement)
  (try_statement)
  (arguments)
  (parameters)
  (tuple)
  (list)
  (set)
  (dictionary)
  (subscript)
  (parenthesized_expression)
] @indent.begin

[
  (elif_clause)
  (else_clause)
  (except_clause)
  (finally_clause)
  ")"
  "]"
  "}"
] @indent.branch

[
  (return_statement)
  (raise_statement)
  (pass_statement)
  (break_statement)
  (continue_statement)
] @indent.dedent

(string) @indent.ignore
(unterminated_string) @indent.ignore
(ERROR) @indent.auto
