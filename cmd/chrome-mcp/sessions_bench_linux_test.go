package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
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
			var servers, browsers usage
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
				servers, browsers = usageOf(b, data)
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
			b.ReportMetric(servers.mib(), "server-MiB")
			b.ReportMetric(browsers.mib(), "browser-MiB")
		})
	}
}

// BenchmarkScale reports what sessions of one server cost, each with a page: the memory of the server
// and of its browsers, the CPU time of both in a second without calls, and that of a navigation with a
// snapshot in one of the sessions.
func BenchmarkScale(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, orderPage)
	}))
	defer web.Close()
	for _, sessions := range []int{1, 4, 16} {
		b.Run(fmt.Sprint("sessions=", sessions), func(b *testing.B) {
			data, err := os.MkdirTemp("", "bench") // the path of a socket is limited
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(data)
			c := &commandLine{b, data}
			run := func(args ...string) {
				if out, err := c.run(args...); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
			}
			call := func(session int, args ...string) {
				flags := append(rootNeedsNoSandbox(), "--session", fmt.Sprint("s", session), "--headless", "--isolated", "--prefer", "cdp", "--allow-domain", "127.0.0.1:*")
				run(slices.Concat([]string{"call"}, flags, args)...)
			}
			for i := range sessions {
				call(i, "navigate", "url="+web.URL)
			}
			defer run("serve", "stop")
			servers, browsers := usageOf(b, data)
			const idle = 5 * time.Second
			time.Sleep(idle)
			idleServers, idleBrowsers := usageOf(b, data)
			for b.Loop() {
				call(0, "navigate", "url="+web.URL)
				call(0, "snapshot")
			}
			endServers, endBrowsers := usageOf(b, data)
			b.ReportMetric((idleServers.cpu+idleBrowsers.cpu-servers.cpu-browsers.cpu)*1000/idle.Seconds(), "idle-cpu-ms/s")
			b.ReportMetric(idleServers.mib(), "server-MiB")
			b.ReportMetric(idleBrowsers.mib(), "browser-MiB")
			b.ReportMetric((endServers.cpu-idleServers.cpu)*1000/float64(b.N), "server-cpu-ms/op")
			b.ReportMetric((endBrowsers.cpu-idleBrowsers.cpu)*1000/float64(b.N), "browser-cpu-ms/op")
		})
	}
}

// A usage is what processes use.
type usage struct {
	kib int     // proportional set size
	cpu float64 // CPU time in seconds, since they started
}

func (u usage) mib() float64 { return float64(u.kib) / 1024 }

func (u *usage) add(p *process.Process) {
	u.kib += pss(p.Pid)
	if times, err := p.Times(); err == nil {
		u.cpu += times.User + times.System
	}
}

// usageOf returns what the servers and the browsers on a data directory use.
func usageOf(tb testing.TB, data string) (servers, browsers usage) {
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
			browsers.add(p)
		case strings.HasPrefix(line, binary) && strings.Contains(line, data) && !strings.Contains(line, "--connect"):
			servers.add(p)
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
