; Later patterns win over earlier ones (Neovim, Helix take the last; rldb likewise).

(identifier) @variable

; ---- literals
(integer) @number
(float) @number.float
(string) @string
(unterminated_string) @error
(boolean) @boolean
(none) @constant.builtin
(ellipsis) @constant.builtin
(comment) @comment

; docstrings: a string that is a statement
(expression_statement value: (string) @string.documentation)

; ---- names
(attribute attribute: (identifier) @property)
(call function: (identifier) @function.call)
(call function: (attribute attribute: (identifier) @function.method.call))
(keyword_argument name: (identifier) @variable.parameter)
(parameter name: (identifier) @variable.parameter)
(variadic_parameter name: (identifier) @variable.parameter)
(type_parameter name: (identifier) @type.parameter)
(module name: (identifier) @module)
(relax_function name: (identifier) @function)
(prim_func name: (identifier) @function)
(python_function name: (identifier) @function)
(macro_definition name: (identifier) @function.macro)
(function_definition name: (identifier) @function)
(dotted_name (identifier) @module)
(aliased_import alias: (identifier) @module)

; the dialects: R, T, I, and what they hold
((identifier) @module.builtin
  (#any-of? @module.builtin "R" "T" "I" "tvm" "relax" "tir" "tirx" "topi"))
((identifier) @variable.builtin (#any-of? @variable.builtin "cls" "metadata"))

(call
  function: (attribute
    object: (identifier) @_dialect
    attribute: (identifier) @function.builtin)
  (#any-of? @_dialect "R" "T" "I"))

; ---- types: annotations, and the constructors wherever they stand
((attribute
   object: (identifier) @_dialect
   attribute: (identifier) @type)
  (#eq? @_dialect "R")
  (#any-of? @type "Tensor" "DTensor" "Shape" "Prim" "Any" "Object" "Tuple" "Callable" "PackedFunc"))
((attribute
   object: (identifier) @_dialect
   attribute: (identifier) @type)
  (#eq? @_dialect "T")
  (#match? @type "^(Buffer|Ptr|handle|let|bool|void|(u?int|float|bfloat)[0-9]+.*)$"))

; ---- TensorIR: axes, loops, buffers
(axis_binding target: (identifier) @variable.parameter)
(axis_binding target: (tuple (identifier) @variable.parameter))
(axis_binding value: (call function: (attribute attribute: (identifier) @keyword.modifier)))
(loop target: (identifier) @variable.parameter)
(loop target: (tuple (identifier) @variable.parameter))
(buffer_store target: (subscript object: (identifier) @variable.member))

; ---- attributes of functions
(decorator "@" @attribute)
(decorator value: (identifier) @attribute)
(decorator value: (attribute attribute: (identifier) @attribute))
(decorator value: (call function: (attribute attribute: (identifier) @attribute)))

; ---- words and signs
["class" "def" "lambda"] @keyword.function
["return" "yield"] @keyword.return
["if" "elif" "else"] @keyword.conditional
["for" "while"] @keyword.repeat
[(break_statement) (continue_statement) (pass_statement)] @keyword
["import" "from"] @keyword.import
["try" "except" "finally" "raise"] @keyword.exception
["with" "as" "assert" "del" "global" "nonlocal"] @keyword
["and" "or" "not" "in" "is" (not_in) (is_not)] @keyword.operator

["=" ":=" "+" "-" "*" "/" "//" "%" "**" "@" "&" "|" "^" "~" "<<" ">>" "<" "<=" "==" "!=" ">=" ">" "->"
 "+=" "-=" "*=" "/=" "//=" "%=" "**=" "@=" "&=" "|=" "^=" "<<=" ">>="] @operator

["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ":" "." ";"] @punctuation.delimiter

(ERROR) @error
