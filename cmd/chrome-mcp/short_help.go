package main

// shortHelp fits on a screen of 24 lines and 80 columns.
const shortHelp = `chrome-mcp lets an AI agent use a real Chrome, over MCP on stdin and stdout.

  chrome-mcp [flags]              run the MCP server (an MCP host starts it)
  chrome-mcp setup|doctor|install add it to an MCP host; check; get a browser
  chrome-mcp extension|stop       set up your own Chrome; disconnect it
  chrome-mcp serve|cdp-url        serve many clients; the URL for Playwright
  chrome-mcp call|shell|sessions  run tools from a terminal; list the sessions
  chrome-mcp read|skill|audit     print a page, help for agents, the audit log
  chrome-mcp secrets|dashboard    store passwords for agents; watch the agents
  chrome-mcp help COMMAND|flags   help of a command; a list of all flags

Allowed sites (none by default):
  --allow-domain PATTERN    example.com, *.example.com, http://localhost:3000
  --block-domain PATTERN    overrides --allow-domain; repeatable
  --policy FILE             rules and grants in a JSON file
Permissions (reading and navigation are always allowed on allowed sites):
  --enable-mutations        click, type, fill in forms
  --enable-downloads        save files
Which browser:
  --browser NAME|PATH       default: the first Chrome or Chromium found
  --headless                no window; the default if there is no display
  --cdp-endpoint URL        attach to a running browser
Each flag is also a variable: CHROME_MCP_ALLOW_DOMAIN=example.com.
Exit codes: 0 success, 1 runtime failure, 2 invalid flag, variable or policy.
`
