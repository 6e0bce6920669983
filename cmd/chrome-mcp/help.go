package main

import (
	"fmt"
	"io"
	"runtime/debug"
)

// version is set by the linker in `make build`.
var version string

// programVersion returns the version of this binary, "devel" when nobody
// knows.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

// shortHelp fits on a screen of 24 lines and 80 columns.
const shortHelp = `chrome-mcp lets an AI agent use a real Chrome, over MCP on stdin and stdout.

  chrome-mcp [flags]        serve; this is what an MCP host starts
  chrome-mcp doctor         say what is there, what is missing, how to fix it
  chrome-mcp extension install|path|unpair|uninstall   for your own Chrome
  chrome-mcp audit|stop     print what agents did; let go of your own Chrome
  chrome-mcp call|shell     use the tools from a terminal
  chrome-mcp help flags     every flag; help COMMAND, or completion, of one

Where the agent may go (nothing is allowed by default):
  --allow-domain PATTERN    example.com, *.example.com, http://localhost:3000
  --block-domain PATTERN    beats --allow-domain; both are repeatable
  --policy FILE             rules and grants in a JSON file
What it may do there (reading and navigating need no more):
  --enable-mutations        click, type, fill in forms
  --enable-downloads        save files
Which browser:
  --browser NAME|PATH       default: the first Chrome or Chromium found
  --headless                no window; the default where there is no display
  --isolated                a profile for this run only
  --cdp-endpoint URL        a browser that runs already

Each flag is a variable too: CHROME_MCP_ALLOW_DOMAIN=example.com.
Exit codes: 0 done, 1 failed while running, 2 bad flag, variable or policy.
`

// commandHelp tells of each command more than shortHelp does.
var commandHelp = map[string]string{
	"doctor": `chrome-mcp doctor [--launch] [flags of the server]

Says what is there, what is missing and how to fix it, for a server with the
same flags. It changes nothing; with --launch it starts the browser and drives
one page. The exit code is 1 when something essential is missing.
`,
	"extension": `chrome-mcp extension install     write the extension into the data folder, and tell
                                 browsers of this program; again to update it
chrome-mcp extension path        print the folder to load in chrome://extensions
chrome-mcp extension unpair [NAME...]
                                 take the keys of browsers back, of all when none
                                 is named
chrome-mcp extension uninstall   undo install, and let go of every browser

--browser chrome|chromium|brave|edge names one browser for install and uninstall,
--data FOLDER the data folder.
`,
	"audit": `chrome-mcp audit [FILE] [--follow] [--json]

Prints what agents did, and what they and pages were denied, a line each, from the
file that the server was given as --audit-log, or from FILE. With --follow it prints
the last lines, and new ones as they come, until it is interrupted; with --json the
lines as they are in the file.
`,
	"call": `chrome-mcp call TOOL [JSON | NAME=VALUE ... | -] [then TOOL ...] [--json]
                [flags of the server]

Starts a server of its own with these flags, calls one of its tools, and those after
"then", prints what they answer and ends it. The arguments are one JSON object, or a
word for each, or are read from stdin for "-". With --json the whole results are
printed, pictures too. The exit code is 1 when a tool could not do it; how the
calls within a batch or a script went is in its answer.

  chrome-mcp call navigate url=https://example.com then read_as_markdown \
                  --allow-domain example.com
`,
	"shell": `chrome-mcp shell [--json] [flags of the server]

Calls the tools that the lines of stdin name, one after the other, in one server:

  navigate url=https://example.com
  click {"selector": "text=Sign in"}

help lists the tools, help TOOL the arguments of one, exit ends. The exit code is 1
when any of them could not do it.
`,
	"completion": `chrome-mcp completion bash|zsh|fish

Prints what the shell evaluates to complete commands, flags, what they take, and tools:
source <(chrome-mcp completion bash), in ~/.bashrc, say.
`,
	"stop": `chrome-mcp stop [--data FOLDER]

Has every server let go of the user's own Chrome, at once. The servers go on, and
connect to it again when the program that started them is restarted, or when they
get the signal HUP.
`,
	"version": "chrome-mcp version prints the version.\n",
}

// help prints the help of the command that words name: with --help they are
// what stood beside it, else "help" comes first.
func help(words []string, stdout io.Writer) error {
	if len(words) > 1 && words[0] == "help" {
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "help" && len(words) == 1 {
		_, err := io.WriteString(stdout, shortHelp)
		return err
	}
	if words[0] == "flags" {
		_, groups := define()
		printFlags(stdout, groups)
		return nil
	}
	text, ok := commandHelp[words[0]]
	if !ok {
		return usagef("`chrome-mcp help` lists the commands, `chrome-mcp help flags` every flag.", "there is no help for %q", words[0])
	}
	_, err := io.WriteString(stdout, text)
	return err
}

// printFlags prints every flag in its group.
func printFlags(w io.Writer, groups []flagGroup) {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n", g.title)
		fmt.Fprint(w, g.flags.FlagUsagesWrapped(96))
	}
	fmt.Fprintln(w, "\nEach flag but those under Other is also an environment variable: CHROME_MCP_ and its")
	fmt.Fprintln(w, "name in capitals, with _ for -, as in CHROME_MCP_ALLOW_DOMAIN. The flag wins. Where a flag")
	fmt.Fprintln(w, "is repeatable, its variable is a list with commas. CHROME_MCP_USERDATA is another")
	fmt.Fprintln(w, "name of CHROME_MCP_DATA, and CHROME_MCP_WS_PORT of CHROME_MCP_PORT.")
}
