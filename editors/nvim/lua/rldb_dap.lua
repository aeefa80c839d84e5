-- rldb in nvim-dap (https://github.com/mfussenegger/nvim-dap; 0.6.0 runs on Neovim 0.7.2). In init.lua:
--
--   require('rldb_dap').setup()                              -- rldb on the PATH
--   require('rldb_dap').setup({ command = '/opt/rldb/bin/rldb', args = { '--engine=vm' } })
--
-- `:lua require('dap').continue()` offers the configurations; docs/dap.md lists their attributes. A file that is no
-- module (a Python file beside it) is named by the variable b:rldb_program.
local M = {}

local function program()
  return vim.b.rldb_program or vim.fn.expand('%:p')
end

-- "x=2x3xf32=ones @w.npy" typed by the user, as words.
local function inputs()
  local words = {}
  for word in vim.fn.input('inputs: '):gmatch('%S+') do
    table.insert(words, word)
  end
  return words
end

M.configurations = {
  { type = 'rldb', request = 'launch', name = 'rldb: run main', program = program, dims = vim.empty_dict() },
  { type = 'rldb', request = 'launch', name = 'rldb: run main, stop at its beginning', program = program, stopOnEntry = true },
  { type = 'rldb', request = 'launch', name = 'rldb: run main with inputs', program = program, inputs = inputs, stopOnExit = true },
  {
    type = 'rldb',
    request = 'launch',
    name = 'rldb: after passes',
    program = program,
    stopOnEntry = true,
    passes = function() return vim.fn.input('passes: ', 'cpu_generic') end,
  },
}

function M.setup(options)
  options = options or {}
  local dap = require('dap')
  local args = { 'dap' }
  for _, arg in ipairs(options.args or {}) do
    table.insert(args, arg)
  end
  dap.adapters.rldb = { type = 'executable', command = options.command or 'rldb', args = args }
  for _, filetype in ipairs(options.filetypes or { 'python', 'tvmscript', 'relay' }) do
    dap.configurations[filetype] = dap.configurations[filetype] or {}
    vim.list_extend(dap.configurations[filetype], M.configurations)
  end
  -- Faults of the program always stop; these in addition.
  dap.defaults.rldb.exception_breakpoints = options.exception_breakpoints or { 'error', 'shape', 'bounds' }
end

return M
