-- rldb as the language server of Neovim (0.7 or newer; no plugin is needed):
--
--   vim.opt.runtimepath:append('/path/to/rldb/editors/nvim')
--   require('rldb').setup({ cmd = { 'rldb', 'lsp' } })
--
-- Python files that contain TVMScript, and Relay texts, are served; in a Python file rldb answers only inside of modules
-- and decorated functions, so that another server can run beside it. Commands: :RldbRun [FUNCTION], :RldbPass PASSES,
-- :RldbLower, :RldbKernel NAME [tir|llvm|asm]; code lenses by vim.lsp.codelens.run().
local M = {}

local options = {
  cmd = { 'rldb', 'lsp' },
  settings = {}, -- passes, inlayHints, codeLenses
  on_attach = nil,
}
local client_id

local decorators = { '@I%.ir_module', '@tvm%.script%.ir_module', '@R%.function', '@R%.func', '@T%.prim_func' }

-- Whether a buffer is to be served.
function M.has_script(buffer)
  if vim.bo[buffer].buftype ~= '' then return false end -- a result that is shown beside the text
  local name = vim.api.nvim_buf_get_name(buffer)
  if name:match('%.relay$') or name:match('%.rly$') then return true end
  local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
  for _, decorator in ipairs(decorators) do
    if text:find(decorator) then return true end
  end
  return false
end

local function show(title, text, filetype)
  vim.cmd('botright new')
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n'))
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].bufhidden = 'wipe'
  vim.bo[buffer].modified = false
  vim.bo[buffer].filetype = filetype
  pcall(vim.api.nvim_buf_set_name, buffer, 'rldb: ' .. title)
end

-- The reply of a command: a text, or two to compare.
local function show_result(err, result)
  if err then return vim.notify(err.message, vim.log.levels.ERROR) end
  local filetype = result.languageId == 'tvmscript' and 'python' or result.languageId
  if result.after then
    show(result.title, result.after, filetype)
    vim.cmd('diffthis')
    vim.cmd('vnew')
    vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(result.before, '\n'))
    vim.bo.buftype = 'nofile'
    vim.bo.bufhidden = 'wipe'
    vim.bo.filetype = filetype
    vim.cmd('diffthis')
  else
    show(result.title, result.text, filetype)
  end
end

function M.execute(command, arguments)
  local client = client_id and vim.lsp.get_client_by_id(client_id)
  if not client then return vim.notify('rldb is not running', vim.log.levels.WARN) end
  client.request('workspace/executeCommand', { command = command, arguments = arguments }, show_result, 0)
end

local function on_attach(client, buffer)
  local uri = vim.uri_from_bufnr(buffer)
  local function command(name, action, more)
    vim.api.nvim_buf_create_user_command(buffer, name, action, more or {})
  end
  vim.bo[buffer].omnifunc = 'v:lua.vim.lsp.omnifunc'
  command('RldbRun', function(o) M.execute('rldb.run', { uri, o.args ~= '' and o.args or 'main' }) end, { nargs = '?' })
  command('RldbPass', function(o) M.execute('rldb.pass', { uri, o.args }) end, { nargs = 1 })
  command('RldbLower', function() M.execute('rldb.lower', { uri }) end)
  command('RldbKernel', function(o) M.execute('rldb.kernel', vim.list_extend({ uri }, o.fargs)) end, { nargs = '+' })
  if options.on_attach then options.on_attach(client, buffer) end
end

function M.attach(buffer)
  buffer = buffer == 0 and vim.api.nvim_get_current_buf() or buffer
  if not M.has_script(buffer) then return end
  if not client_id or not vim.lsp.get_client_by_id(client_id) then
    client_id = vim.lsp.start_client({
      name = 'rldb',
      cmd = options.cmd,
      root_dir = vim.fn.getcwd(),
      init_options = vim.tbl_extend('force', { showsResults = true }, options.settings),
      get_language_id = function(_, filetype) return filetype end,
      on_attach = on_attach,
      on_exit = function() client_id = nil end,
    })
  end
  if client_id then vim.lsp.buf_attach_client(buffer, client_id) end
end

function M.setup(given)
  options = vim.tbl_extend('force', options, given or {})
  for _, name in ipairs({ 'rldb.run', 'rldb.pass', 'rldb.lower', 'rldb.kernel' }) do
    vim.lsp.commands[name] = function(command) M.execute(command.command, command.arguments) end
  end
  local group = vim.api.nvim_create_augroup('rldb', {})
  vim.api.nvim_create_autocmd({ 'BufRead', 'BufNewFile' }, {
    group = group,
    pattern = { '*.relay', '*.rly' },
    callback = function(event) vim.bo[event.buf].filetype = 'relay' end,
  })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = { 'python', 'tvmscript', 'relay' },
    callback = function(event) M.attach(event.buf) end,
  })
  -- A buffer becomes TVMScript when its first decorator is written.
  vim.api.nvim_create_autocmd({ 'InsertLeave', 'BufWritePost' }, {
    group = group,
    pattern = '*.py',
    callback = function(event)
      if not (client_id and vim.lsp.buf_is_attached(event.buf, client_id)) then M.attach(event.buf) end
    end,
  })
end

return M
