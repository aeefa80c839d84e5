(function_definition name: (global) @name) @definition.function
(type_definition name: (identifier) @name) @definition.type
(constructor name: (identifier) @name) @definition.constructor
(call function: (global) @name) @reference.call
(constructor_pattern name: (identifier) @name) @reference.constructor
