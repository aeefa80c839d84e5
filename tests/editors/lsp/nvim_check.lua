-- What Neovim's own client makes of `rldb lsp`: nvim --headless -u NONE -c 'luafile nvim_check.lua' MODULE.
-- Environment: RLDB_PROGRAM, RLDB_SOURCE. The last line is `N passed, N failed`.
local passed, failed = 0, 0
local function check(what, good, seen)
  if good then
    passed = passed + 1
  else
    failed = failed + 1
    print('failed: ' .. what .. ': ' .. vim.inspect(seen) .. '\n')
  end
end
local function wait(condition) return vim.wait(20000, condition, 20) end
local function place(line, text)
  for i, content in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local at = content:find(text, 1, true)
    if content:find(line, 1, true) and at then return vim.api.nvim_win_set_cursor(0, { i, at - 1 }) end
  end
end
local function ask(method, more)
  local params = vim.tbl_extend('force', vim.lsp.util.make_position_params(), more or {})
  for _, reply in pairs(vim.lsp.buf_request_sync(0, method, params, 20000) or {}) do return reply.result end
end
local function replace(from, to)
  for i, content in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, false)) do
    local at, last = content:find(from, 1, true)
    if at then return vim.api.nvim_buf_set_text(0, i - 1, at - 1, i - 1, last, { to }) end
  end
end

local function run()
  vim.opt.runtimepath:append(vim.env.RLDB_SOURCE .. '/editors/nvim')
  local rldb = require('rldb')
  rldb.setup({ cmd = { vim.env.RLDB_PROGRAM, 'lsp' } })
  vim.bo.filetype = 'python'
  check('the server starts', wait(function()
    local clients = vim.lsp.buf_get_clients(0)
    return next(clients) and clients[next(clients)].initialized
  end), vim.lsp.buf_get_clients(0))

  replace('R.multiply', 'R.multipli')
  check('an error is shown', wait(function() return #vim.diagnostic.get(0) > 0 end), vim.diagnostic.get(0))
  local found = vim.diagnostic.get(0)[1] or {}
  check('with its message', (found.message or ''):find('R.multipli', 1, true), found)
  check('on its line', found.lnum == 11, found)
  place('multipli', 'R.multipli')
  local params = vim.lsp.util.make_range_params()
  params.context = { diagnostics = {} }
  local actions = ask('textDocument/codeAction', params)
  check('a fix is offered', actions and actions[1] and actions[1].title == 'Replace by `R.multiply`', actions)
  if actions and actions[1] then vim.lsp.util.apply_workspace_edit(actions[1].edit, 'utf-16') end
  check('the fix takes it away', wait(function() return #vim.diagnostic.get(0) == 0 end), vim.diagnostic.get(0))

  place('second = ', 'second')
  local hover = ask('textDocument/hover')
  check('a hover says the type', hover and vim.inspect(hover):find('R.Tensor((3, 4)', 1, true), hover)
  place('import os', 'os')
  check('Python is left alone', ask('textDocument/hover') == nil, nil)

  place('second = ', '(first, x)')
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_win_get_cursor(0)[2] + 3 })
  local items = ask('textDocument/completion')
  check('names are completed', items and vim.inspect(items):find('"first"', 1, true), items)
  replace('R.multiply(first, x)', 'R.mul')
  place('second = ', 'R.mul')
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_win_get_cursor(0)[2] + 5 })
  items = ask('textDocument/completion')
  check('operators are completed', items and vim.inspect(items):find('"R.multiply"', 1, true), items)
  replace('R.mul', 'R.multiply(first, x)')

  place('first = ', 'first')
  vim.lsp.buf.rename('sum')
  check('a name is renamed', wait(function()
    local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
    return text:find('sum = R.add', 1, true) and text:find('R.multiply(sum, x)', 1, true)
  end), vim.api.nvim_buf_get_lines(0, 0, -1, false))
  local refused = vim.lsp.buf_request_sync(0, 'textDocument/rename',
    vim.tbl_extend('force', vim.lsp.util.make_position_params(), { newName = 'x' }), 20000)
  check('a clash is refused', vim.inspect(refused):find('another meaning', 1, true), refused)

  place('second = ', 'sum')
  local definition = ask('textDocument/definition')
  check('the definition is found', definition and definition[1] and definition[1].range.start.line == 10, definition)
  check('symbols', vim.inspect(ask('textDocument/documentSymbol')):find('"main"', 1, true), nil)
  rldb.execute('rldb.pass', { vim.uri_from_bufnr(0), 'LegalizeOps' })
  check('the module after a pass is shown', wait(function()
    for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
      local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
      if vim.api.nvim_buf_get_name(buffer):find('LegalizeOps') and text:find('call_tir', 1, true) then return true end
    end
  end), vim.api.nvim_list_bufs())
  local attached = vim.tbl_filter(function(buffer) return next(vim.lsp.buf_get_clients(buffer)) end,
    vim.api.nvim_list_bufs())
  check('the server is given the text alone', #attached == 1, vim.tbl_map(vim.uri_from_bufnr, attached))
  vim.lsp.stop_client(vim.lsp.get_active_clients())
  check('the server ends', wait(function() return #vim.lsp.get_active_clients() == 0 end), nil)
end

local good, problem = xpcall(run, debug.traceback)
check('the script runs', good, problem)
print(passed .. ' passed, ' .. failed .. ' failed\n')
vim.cmd('qall!')
