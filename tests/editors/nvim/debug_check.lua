-- A debug session in Neovim with nvim-dap, without a screen. The environment names rldb, the module and the file for
-- the report: a line `ok NAME` or `FAIL NAME: ...` for each check.
local out = assert(io.open(vim.env.RLDB_REPORT, 'w'))
local function check(name, good, seen)
  out:write(good and ('ok ' .. name .. '\n') or ('FAIL ' .. name .. ': ' .. vim.inspect(seen) .. '\n'))
  out:flush()
end
local function finish()
  out:close()
  vim.cmd('qa!')
end

local ok, problem = pcall(function()
  local dap = require('dap')
  require('rldb_dap').setup({ command = vim.env.RLDB_PROGRAM })
  vim.cmd('edit ' .. vim.env.RLDB_MODULE)

  local stops = 0
  dap.listeners.after.event_stopped['check'] = function() stops = stops + 1 end
  local ended = false
  dap.listeners.after.event_terminated['check'] = function() ended = true end
  -- Waits for a stop and for the client to have its frames: no two stops have frames with the same id.
  local last = 0
  local function stopped_at(count)
    local frame
    vim.wait(20000, function()
      local session = dap.session()
      frame = session and session.current_frame
      return ended or (stops >= count and frame ~= nil and frame.id ~= last and frame.scopes ~= nil)
    end, 20)
    last = frame and frame.id
    return frame
  end
  -- A request of the client, waited for.
  local function ask(command, arguments)
    local err, body, done
    dap.session():request(command, arguments, function(e, b) err, body, done = e, b, true end)
    vim.wait(10000, function() return done end, 10)
    return body, err
  end

  vim.api.nvim_win_set_cursor(0, { tonumber(vim.env.RLDB_LINE), 0 })
  dap.set_breakpoint()
  dap.run({ type = 'rldb', request = 'launch', name = 'check', program = vim.env.RLDB_MODULE, inputs = { 'x=2x4xf32=arange' } })

  local frame = stopped_at(1)
  check('stops at the breakpoint', frame and frame.line == tonumber(vim.env.RLDB_LINE), frame)
  check('shows the line', vim.api.nvim_win_get_cursor(0)[1] == tonumber(vim.env.RLDB_LINE), vim.api.nvim_win_get_cursor(0))
  check('has the scopes of the stop', frame and #frame.scopes == 5, frame and frame.scopes)

  dap.step_over()
  frame = stopped_at(2)
  check('steps over a binding', frame and frame.line == tonumber(vim.env.RLDB_LINE) + 1, frame)
  dap.step_back()
  frame = stopped_at(3)
  check('steps back over it', frame and frame.line == tonumber(vim.env.RLDB_LINE), frame)

  local body = ask('evaluate', { expression = 'a[1, 3]', frameId = frame.id, context = 'hover' })
  check('evaluates', body and body.result:find('49') ~= nil, body)
  local locals = frame.scopes and frame.scopes[1]
  body = ask('variables', { variablesReference = locals and locals.variablesReference or 0 })
  check('lists variables', body and body.variables[1].name == 'x', body)
  body = ask('evaluate', { expression = 'heap', frameId = frame.id, context = 'repl' })
  check('the console takes commands', body ~= nil, body)

  dap.continue()
  check('runs to the end', vim.wait(20000, function() return ended end, 10), ended)
end)
check('the script', ok, problem)
finish()
