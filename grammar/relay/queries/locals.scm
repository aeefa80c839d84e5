; Graph variables (`%0`) are of the whole file.
[(function_definition) (function) (block) (arm)] @local.scope

(parameter name: (local) @local.definition.parameter)
(let_binding name: (local) @local.definition.var)
(free_variable name: (local) @local.definition.var)
(variable_pattern name: (local) @local.definition.var)
(type_parameters (identifier) @local.definition.type)
(local) @local.reference
