(module name: (identifier) @name) @definition.module
(relax_function name: (identifier) @name) @definition.function
(prim_func name: (identifier) @name) @definition.function
(python_function name: (identifier) @name) @definition.function
(macro_definition name: (identifier) @name) @definition.macro
(function_definition name: (identifier) @name) @definition.function

; my_ext = R.ExternFunc("sym")
((binding
   target: (identifier) @name
   value: (call function: (attribute object: (identifier) @_r attribute: (identifier) @_extern)))
  (#eq? @_r "R")
  (#eq? @_extern "ExternFunc")) @definition.function

; with T.sblock("name"):
(sblock
  item: (with_item value: (call arguments: (arguments . (string) @name)))) @definition.block

; cls.f(x), f(x), R.call_tir(cls.f, ...)
(call function: (identifier) @name) @reference.call
(call function: (attribute attribute: (identifier) @name)) @reference.call
((call
   function: (attribute attribute: (identifier) @_call)
   arguments: (arguments . (attribute object: (identifier) attribute: (identifier) @name)))
  (#match? @_call "^call_(tir|dps_packed|tir_inplace|tir_with_grad|tir_dyn)$")) @reference.call
