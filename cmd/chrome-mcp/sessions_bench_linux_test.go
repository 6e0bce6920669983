package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
)

// BenchmarkSessions runs the task of BenchmarkTask in eight sessions at the same time, from the
// start of the client to its last result: in eight separate servers, and in one server whose sessions
// share a browser. It reports the memory of the servers and of the browsers at the end, as the
// proportional set size (PSS), without the programs that connect to the one server.
func BenchmarkSessions(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, orderPage)
	}))
	defer web.Close()
	const sessions = 8
	flags := []string{"--headless", "--isolated", "--prefer", "cdp", "--allow-domain", "127.0.0.1:*", "--enable-mutations", "--log-level", "error"}
	for _, mode := range []string{"separate", "shared"} {
		b.Run(mode, func(b *testing.B) {
			var took time.Duration
			var servers, browsers int
			for b.Loop() {
				data, err := os.MkdirTemp("", "bench") // the path of a socket is limited
				if err != nil {
					b.Fatal(err)
				}
				c := &commandLine{b, data}
				if mode == "shared" { // starts the server
					if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil {
						b.Fatalf("%v\n%s", err, out)
					}
				}
				begin := time.Now()
				clients := make([]*mcpServer, sessions)
				var running sync.WaitGroup
				for i := range clients {
					running.Go(func() {
						args := append([]string{"--data", data}, flags...)
						if mode == "shared" {
							args = append(args, "--connect", server.SocketPath(data), "--session", fmt.Sprint("s", i))
						}
						s := startMCP(b, args...)
						clients[i] = s
						order(b, web.URL, func(tool string, args map[string]any, want string) string { return s.call(b, tool, args, want) })
					})
				}
				running.Wait()
				took += time.Since(begin)
				servers, browsers = memoryOf(b, data)
				for _, s := range clients {
					if s != nil {
						s.client.Close()
						s.stdin.Close()
						s.cmd.Wait()
					}
				}
				if mode == "shared" {
					if out, err := c.run("serve", "stop"); err != nil {
						b.Errorf("%v\n%s", err, out)
					}
				}
				os.RemoveAll(data)
			}
			b.ReportMetric(took.Seconds()/float64(b.N), "s/8-sessions")
			b.ReportMetric(float64(servers)/1024, "server-MiB")
			b.ReportMetric(float64(browsers)/1024, "browser-MiB")
		})
	}
}

// memoryOf returns the proportional set size of the servers and the browsers on a data directory, in
// KiB.
func memoryOf(tb testing.TB, data string) (servers, browsers int) {
	all, err := process.Processes()
	if err != nil {
		tb.Fatal(err)
	}
	inBrowser := map[int32]bool{}
	for _, p := range all { // a parent has a smaller pid
		line, err := p.Cmdline()
		if err != nil {
			continue
		}
		parent, _ := p.Ppid()
		switch browser := strings.Contains(line, "--user-data-dir="+data) || inBrowser[parent]; {
		case browser:
			inBrowser[p.Pid] = true
			browsers += pss(p.Pid)
		case strings.HasPrefix(line, binary) && strings.Contains(line, data) && !strings.Contains(line, "--connect"):
			servers += pss(p.Pid)
		}
	}
	return servers, browsers
}

// pss returns the proportional set size of a process in KiB, or 0 if it has exited.
func pss(pid int32) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	_, after, _ := bytes.Cut(data, []byte("\nPss:"))
	var kib int
	fmt.Sscan(string(after), &kib)
	return kib
}
