package mutation

var resources = promises{
	"A page that exceeds the time or memory limit": {{
		File: "internal/readable/process.go",
		Old:  "defer context.AfterFunc(ctx, p.Kill)()", New: "",
		Test: "TestConvertInEnds",
	}},
	"Every parser in this process": {{
		File: "internal/readable/markdown.go",
		Old:  "c.Register.PostRenderer(escapeBrackets, converter.PriorityStandard+10) // before the library's own", New: "",
		Test: "TestBrackets",
	}},
	"CDP messages over the limit": {
		{
			File: "internal/cdpconn/message.go",
			Old:  "return MaxEvent\n", New: "return 16 * MaxEvent\n",
			Test: "TestMessageLimit",
		},
		{
			File: "internal/cdpconn/limit.go",
			Old:  "if MayDrop(method) {", New: "if true {",
			Test: "TestLostEvent",
		},
		{
			File: "internal/cdpconn/stream.go",
			Old:  "full := s.queued+len(ev.Params) > maxQueued && MayDrop(ev.Method)", New: "full := false",
			Test: "TestQueueLimit",
		},
	},
	"An agent's script runs in its own process with resource limits": {
		{
			File: "internal/child/process.go",
			Old:  "func (p *Process) Kill() { _ = p.cmd.Process.Kill() }", New: "func (p *Process) Kill() {}",
			Package: "./internal/script", Test: "TestCanceledStep",
		},
		{
			File: "internal/child/child.go",
			Old:  "\t\t\tos.Exit(0)\n\t\t}\n\t\tp.messages", New: "\t\t\treturn\n\t\t}\n\t\tp.messages",
			Package: "./internal/script", Test: "TestEngineEndsWithItsParent",
		},
		{
			File: "internal/child/child.go",
			Old:  "if err := confine(uint64(memory + headroom)); err != nil {", New: "if err := error(nil); err != nil {",
			Package: "./internal/script", Test: "TestEngineIsConfined",
		},
		{
			File: "internal/child/process.go",
			Old:  "p.cmd.Env = []string{}", New: "p.cmd.Env = os.Environ()",
			Package: "./internal/script", Test: "TestEngineIsConfined",
		},
	},
	"Results that are saved in files stay in the output directory": {
		{
			File: "internal/browsertools/file.go",
			Old:  "if err := download.CheckPath(s); err != nil {", New: "if err := error(nil); err != nil {",
			Package: "./mcp", Test: "^TestFileNames$",
		},
		{
			File: "mcp/output.go",
			Old:  "if !o.usage.Reserve(n, 1, o.max, maxOutputFiles) {", New: "if !o.usage.Reserve(n, 1, 1<<40, maxOutputFiles) {",
			Test: "^TestOutputQuota$",
		},
		{
			File: "internal/download/path.go",
			Old:  "return info, checkPrivate(info)", New: "return info, nil",
			Test: "^TestSaveAtLinks$",
		},
	},
	"Neither pages nor clients of the bridge can flood the log": {{
		File: "internal/logging/limit.go",
		Old:  "if c.lines[message] <= logLimit {", New: "if true {",
		Test: "^TestLogFlood$",
	}},
}
