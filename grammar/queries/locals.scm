; Scopes: a module, a function, a comprehension, a lambda. A dataflow block and a loop open none: names leave them
; through R.output, and TensorIR's loop variables are seen in their block only by convention.
(source_file) @local.scope
(module) @local.scope
(relax_function) @local.scope
(prim_func) @local.scope
(python_function) @local.scope
(macro_definition) @local.scope
(function_definition) @local.scope
(lambda) @local.scope
[(list_comprehension) (set_comprehension) (dictionary_comprehension) (generator_expression)] @local.scope

(module name: (identifier) @local.definition.namespace)
(relax_function name: (identifier) @local.definition.function)
(prim_func name: (identifier) @local.definition.function)
(python_function name: (identifier) @local.definition.function)
(macro_definition name: (identifier) @local.definition.macro)
(function_definition name: (identifier) @local.definition.function)

(parameter name: (identifier) @local.definition.parameter)
(variadic_parameter name: (identifier) @local.definition.parameter)
(type_parameter name: (identifier) @local.definition.type)
(binding target: (identifier) @local.definition.var)
(binding target: (tuple (identifier) @local.definition.var))
(declaration target: (identifier) @local.definition.var)
(axis_binding target: (identifier) @local.definition.var)
(axis_binding target: (tuple (identifier) @local.definition.var))
(loop target: (identifier) @local.definition.var)
(loop target: (tuple (identifier) @local.definition.var))
(with_item alias: (identifier) @local.definition.var)
(with_item alias: (tuple (identifier) @local.definition.var))
(for_clause target: (identifier) @local.definition.var)
(for_clause target: (tuple (identifier) @local.definition.var))
(named_expression name: (identifier) @local.definition.var)
(aliased_import alias: (identifier) @local.definition.import)

(identifier) @local.reference
