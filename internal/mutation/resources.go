package mutation

var resources = []Mutation{
	{
		Promise: "A page that exceeds the time or memory limit",
		File:    "internal/readable/process.go",
		Old:     "defer context.AfterFunc(ctx, p.Kill)()", New: "",
		Package: "./internal/readable", Test: "TestConvertInEnds",
	},
	{
		Promise: "Every parser in this process",
		File:    "internal/readable/markdown.go",
		Old:     "c.Register.PostRenderer(escapeBrackets, converter.PriorityStandard+10) // before the library's own", New: "",
		Package: "./internal/readable", Test: "TestBrackets",
	},
	{
		Promise: "CDP messages over the limit",
		File:    "internal/cdpconn/limit.go",
		Old:     "return MaxEvent\n", New: "return 16 * MaxEvent\n",
		Package: "./internal/cdpconn", Test: "TestMessageLimit",
	},
	{
		Promise: "CDP messages over the limit",
		File:    "internal/cdpconn/limit.go",
		Old:     "if mayDrop(method) {", New: "if true {",
		Package: "./internal/cdpconn", Test: "TestLostEvent",
	},
	{
		Promise: "CDP messages over the limit",
		File:    "internal/cdpconn/stream.go",
		Old:     "full := s.queued+len(ev.Params) > maxQueued && mayDrop(ev.Method)", New: "full := false",
		Package: "./internal/cdpconn", Test: "TestQueueLimit",
	},
	{
		Promise: "An agent's script runs in its own process with resource limits",
		File:    "internal/child/process.go",
		Old:     "func (p *Process) Kill() { _ = p.cmd.Process.Kill() }", New: "func (p *Process) Kill() {}",
		Package: "./internal/script", Test: "TestCanceledStep",
	},
	{
		Promise: "An agent's script runs in its own process with resource limits",
		File:    "internal/child/child.go",
		Old:     "\t\t\tos.Exit(0)\n\t\t}\n\t\tp.messages", New: "\t\t\treturn\n\t\t}\n\t\tp.messages",
		Package: "./internal/script", Test: "TestEngineEndsWithItsParent",
	},
	{
		Promise: "An agent's script runs in its own process with resource limits",
		File:    "internal/child/child.go",
		Old:     "if err := confine(uint64(memory + headroom)); err != nil {", New: "if err := error(nil); err != nil {",
		Package: "./internal/script", Test: "TestEngineIsConfined",
	},
	{
		Promise: "An agent's script runs in its own process with resource limits",
		File:    "internal/child/process.go",
		Old:     "p.cmd.Env = []string{}", New: "p.cmd.Env = os.Environ()",
		Package: "./internal/script", Test: "TestEngineIsConfined",
	},
	{
		Promise: "Results that are saved in files stay in the output directory",
		File:    "mcp/output.go",
		Old:     "if err := download.CheckPath(s); err != nil {", New: "if err := error(nil); err != nil {",
		Package: "./mcp", Test: "^TestFileNames$",
	},
	{
		Promise: "Results that are saved in files stay in the output directory",
		File:    "mcp/output.go",
		Old:     "} else if n > o.max-o.used || o.files >= maxOutputFiles {", New: "} else if false {",
		Package: "./mcp", Test: "^TestOutputQuota$",
	},
	{
		Promise: "Results that are saved in files stay in the output directory",
		File:    "internal/download/path.go",
		Old:     "return info, checkPrivate(info)", New: "return info, nil",
		Package: "./internal/download", Test: "^TestSaveAtLinks$",
	},
	{
		Promise: "Neither pages nor clients of the bridge can flood the log",
		File:    "cmd/chrome-mcp/logging_limit.go",
		Old:     "if c.lines[message] < logLimit {", New: "if true {",
		Package: "./cmd/chrome-mcp", Test: "^TestLogFlood$",
	},
}
