; Later patterns win over earlier ones.

(identifier) @variable
(comment) @comment
(unterminated_comment) @error
(version) @keyword.directive
(old_version) @error
(metadata) @comment
(number) @number
(boolean) @boolean
(string) @string
(meta) @constant.builtin
(wildcard) @constant.builtin
(any_dim) @constant.builtin

["def" "fn"] @keyword.function
["type" "extern"] @keyword.type
["let" "free_var" "ref" "ref_read" "ref_write"] @keyword
["if" "else" "match" "match?"] @keyword.conditional
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
["=" "=>" "->" "+" "-" "*" "/" "<" ">" "<=" ">=" "==" "!="] @operator

(local) @variable
(graph) @variable.builtin
(global) @function
(parameter name: (local) @variable.parameter)
(attribute name: (_) @property)
(name (identifier) @constructor)
(name (dotted_name) @function.builtin)
(call function: (name (identifier) @function.builtin))
; constructors are capitalised, operators are not
(name ((identifier) @constructor (#match? @constructor "^[A-Z]")))
(call function: (name ((identifier) @constructor (#match? @constructor "^[A-Z]"))))
(constructor name: (identifier) @constructor)
(constructor_pattern name: (identifier) @constructor)
(type_definition name: (identifier) @type.definition)
(type_parameters (identifier) @type.parameter)
(named_type name: (identifier) @type)
(tensor_type dtype: (identifier) @type)
"Tensor" @type.builtin
