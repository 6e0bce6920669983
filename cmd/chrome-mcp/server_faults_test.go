package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/server"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/await"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/rawmcp"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
)

// memory returns the resident memory of the server, in MiB. It is 0 where /proc does not exist.
func (c *commandLine) memory() int {
	c.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.server().Pid))
	if err != nil {
		if runtime.GOOS == "linux" {
			c.t.Fatal(err)
		}
		return 0
	}
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	var kib int
	if _, err := fmt.Sscan(after, &kib); err != nil {
		c.t.Fatal(err)
	}
	return kib >> 10
}

// post is the start of a request to /mcp with a body of the given length.
func post(length int, headers ...string) string {
	head := "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	return fmt.Sprintf("%s%sContent-Length: %d\r\n\r\n", head, strings.Join(headers, ""), length)
}

// readUntil reads until a text or the end.
func readUntil(r io.Reader, text string) {
	var all []byte
	part := make([]byte, 4096)
	for !bytes.Contains(all, []byte(text)) {
		n, err := r.Read(part)
		if all = append(all, part[:n]...); err != nil {
			return
		}
	}
}

// junk returns what a connection sends.
func junk(r *rand.Rand) string {
	const stateless = "Mcp-Protocol-Version: 2026-07-28\r\n"
	var noise bytes.Buffer
	for range r.IntN(2000) {
		noise.WriteByte(byte(r.IntN(256)))
	}
	texts := []string{
		noise.String(),
		post(noise.Len()) + noise.String(),
		post(noise.Len(), stateless) + noise.String(),
		post(len(rawmcp.Initialize)) + rawmcp.Initialize,
		post(len(rawmcp.Initialize), stateless) + rawmcp.Initialize + "\r\n",
		post(1<<30) + "{",
		post(3) + "[1]",
		post(20) + `{"jsonrpc":"2.0","id`,
		post(2, "Mcp-Session-Id: none\r\n") + "{}",
		post(2, "Chrome-MCP-Session: none\r\n") + "{}",
		"GET /mcp HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
		"BREW /mcp HTTP/1.1\r\nHost: x\r\n\r\n",
		"DELETE /v1/server HTTP/1.1\r\nHost: x\r\n\r\n",
		"PUT /v1/sessions/%2e%2e HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
		"PUT /v1/sessions/junk HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{\"x\"",
		"POST /v1/sessions/default/tools/" + strings.Repeat("x", 5000) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n",
		"GET /v1/sessions HTTP/1.1\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
	return texts[r.IntN(len(texts))]
}

// authorize returns junk for an HTTP listener, with the host of the listener or another one, and no
// token, a wrong one or that of the server. What may open a session does not get the token.
func authorize(r *rand.Rand, text, host, token string) string {
	headers := []string{
		"Host: x\r\n",
		"Host: x\r\nAuthorization: Bearer " + token + "\r\n",
		"Host: " + host + "\r\n",
		"Host: " + host + "\r\nAuthorization: Bearer " + token[1:] + "\r\n",
		"Host: " + host + "\r\nAuthorization: Bearer " + token + "\r\n",
		"Host: " + host + "\r\nAuthorization: Bearer " + token + "\r\nMcp-Method: tools/call\r\n",
	}
	if strings.Contains(text, rawmcp.Initialize) || strings.Contains(text, "/tools/") {
		headers = headers[:4]
	}
	return strings.Replace(text, "Host: x\r\n", headers[r.IntN(len(headers))], 1)
}

// files returns the number of open files of a process. It is 0 where /proc does not exist.
func files(t *testing.T, pid int) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(list)
}

const (
	// maxJunkMemory is the memory by which junk may make a server grow, in MiB. It is checked only in
	// deep tests: how much memory the runtime has returned to the system depends on the machine.
	maxJunkMemory = 100
	// maxJunkFiles is the number of files that may be open in addition after junk: an idle
	// connection of a client that checks the server.
	maxJunkFiles = 4
	// maxJunkGoroutines is the number of goroutines of a server after junk, without those of MCP
	// sessions. Without junk it has about 15. Each kind of junk is sent about 100 times at least.
	maxJunkGoroutines = 60
	// maxMCPSessions is the number of MCP sessions that stay open in a session, each with a
	// goroutine: package mcp closes the others.
	maxMCPSessions = 64
)

// TestJunkRequests sends junk to the server, on its socket and over HTTP. It stays responsive, its
// resources stay bounded, and no session is opened.
func TestJunkRequests(t *testing.T) {
	tier.Slow(t)
	requests := 200
	if tier.DeepEnabled() {
		requests = 10000
	}
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			c := newCommandLine(t)
			address, host, token := server.SocketPath(c.data), "", ""
			readLog := func() string {
				waitGone(t, c.data)
				text, err := os.ReadFile(filepath.Join(c.data, "server", "log"))
				if err != nil {
					t.Error(err)
				}
				return string(text)
			}
			if network == "tcp" {
				url, log, ended := c.startServe("127.0.0.1:0", "--log-level", "error", "--allow-domain", "example.com")
				readLog = func() string {
					<-ended
					return log.String()
				}
				host = strings.TrimPrefix(url, "http://")
				address = host
				var err error
				if token, err = server.ReadToken(server.TokenPath(c.data)); err != nil {
					t.Fatal(err)
				}
			}
			if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil {
				t.Fatalf("call: %v\n%s", err, out)
			}
			process := c.server()
			memory, open := c.memory(), files(t, process.Pid)
			c.sendJunk(network, address, requests, func(r *rand.Rand) string {
				if network == "tcp" {
					return authorize(r, junk(r), host, token)
				}
				return junk(r)
			})

			if out, err := c.run("call", "chrome_status"); err != nil {
				t.Errorf("call: %v\n%s", err, out)
			}
			if out, err := c.run("sessions"); err != nil || strings.Count(out, "\n") != 1 {
				t.Errorf("sessions: %v\n%s", err, out)
			}
			if network == "tcp" {
				if status, body := curl(t, "-H", c.header(), "http://"+host+"/metrics"); status != "200" || !strings.Contains(body, "chrome_mcp_sessions 1\n") {
					t.Errorf("metrics: %s\n%s", status, body)
				}
				if status, body := curl(t, "-H", c.header(), "--json", "{}", "http://"+host+"/v1/sessions/default/tools/chrome_status"); status != "200" || !strings.Contains(body, "example.com") {
					t.Errorf("a call over HTTP: %s\n%s", status, body)
				}
			}
			if now := c.server().Pid; now != process.Pid {
				t.Fatalf("process %d replaced %d", now, process.Pid)
			}
			await.Until(t, "the server to close the connections", func() bool { return files(t, process.Pid) <= open+maxJunkFiles })
			memoryNow, openNow := c.memory(), files(t, process.Pid)
			if tier.DeepEnabled() && memoryNow-memory > maxJunkMemory {
				t.Errorf("the memory of the server grew from %d to %d MiB", memory, memoryNow)
			}
			goroutines, maxGoroutines := 0, maxJunkGoroutines
			if network == "unix" { // where junk begins MCP sessions
				maxGoroutines += maxMCPSessions
			}
			if runtime.GOOS != "windows" {
				if err := process.Signal(syscall.SIGQUIT); err != nil { // prints all goroutines
					t.Fatal(err)
				}
				log := readLog()
				if goroutines = strings.Count(log, "\ngoroutine "); goroutines == 0 || goroutines > maxGoroutines {
					t.Errorf("%d goroutines, more than %d\n%.20000s", goroutines, maxGoroutines, log)
				}
			}
			t.Logf("%d requests: %d and then %d MiB, %d and then %d files, %d goroutines at the end", requests, memory, memoryNow, open, openNow, goroutines)
		})
	}
}

// sendJunk sends junk on several connections at a time.
func (c *commandLine) sendJunk(network, address string, requests int, junk func(*rand.Rand) string) {
	var sent atomic.Int64
	var sending sync.WaitGroup
	for i := range 32 { // the server delays the end of a connection after an invalid request
		sending.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for sent.Add(1) <= int64(requests) {
				conn, err := net.Dial(network, address)
				if err != nil {
					c.t.Error(err)
					return
				}
				conn.SetDeadline(time.Now().Add(await.HangLimit))
				text := junk(r)
				io.WriteString(conn, text) // fails when the server has read enough
				if strings.HasSuffix(text, rawmcp.Initialize) {
					readUntil(conn, `"result"`) // the MCP session stays open
				} else {
					conn.(interface{ CloseWrite() error }).CloseWrite()
					io.Copy(io.Discard, conn) // until the server closes the connection
				}
				conn.Close()
			}
		})
	}
	sending.Wait()
}

// TestMCPSessionOfOtherName uses the id of an MCP session of one session with another one.
func TestMCPSessionOfOtherName(t *testing.T) {
	c := newCommandLine(t)
	for _, name := range []string{"a", "b"} {
		if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", name); err != nil {
			t.Fatalf("call: %v\n%s", err, out)
		}
	}
	client := server.NewClient(server.SocketPath(c.data))
	defer client.Close()
	post := func(session, id, message string) (string, int) {
		t.Helper()
		url, web := client.MCP(session)
		return rawmcp.Post(t, web, url, id, message)
	}
	id, status := post("a", "", rawmcp.Initialize)
	if id == "" {
		t.Fatalf("initialize: status %d", status)
	}
	for session, want := range map[string]int{"a": 200, "b": 404, "none": 404} {
		if _, status := post(session, id, rawmcp.Ping); status != want {
			t.Errorf("session %s: status %d, want %d", session, status, want)
		}
	}
}

// TestTerminatedServerDrainsCalls sends SIGTERM during a call. The call finishes, and its client
// gets the result: of HTTP, and of the stdio transport.
func TestTerminatedServerDrainsCalls(t *testing.T) {
	needChromium(t)
	for _, stdio := range []bool{false, true} {
		t.Run(fmt.Sprintf("stdio=%v", stdio), func(t *testing.T) {
			requested, answer := make(chan struct{}), make(chan struct{})
			once := sync.OnceFunc(func() { close(requested) })
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/slow" {
					once()
					<-answer
				}
				fmt.Fprint(w, "<title>Answered</title>")
			}))
			defer site.Close()
			release := sync.OnceFunc(func() { close(answer) })
			defer release()
			c := newCommandLine(t)
			settings := append([]string{"--headless", "--isolated", "--prefer", "cdp", "--allow-domain", "127.0.0.1"}, rootNeedsNoSandbox()...)
			if out, err := c.run(append([]string{"call", "navigate", "url=" + site.URL}, settings...)...); err != nil {
				t.Fatalf("call: %v\n%s", err, out)
			}
			result := make(chan string, 1)
			go func() {
				cmd := exec.Command(binary, "call", "navigate", "url="+site.URL+"/slow", "--data", c.data)
				if stdio {
					cmd = exec.Command(binary, "--connect", server.SocketPath(c.data), "--data", c.data)
					stdin, err := cmd.StdinPipe()
					if err != nil {
						result <- err.Error()
						return
					}
					defer stdin.Close()
					go io.WriteString(stdin, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"navigate","arguments":{"url":"`+site.URL+`/slow"}}}
`)
				}
				out, err := cmd.CombinedOutput()
				result <- fmt.Sprintf("%s\n%v", out, err)
			}()
			<-requested
			if err := c.server().Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			waitNotRunning(t, c.data)
			release()
			if got := <-result; !strings.Contains(got, "Answered") {
				t.Errorf("the call returned %s", got)
			}
			waitGone(t, c.data)
		})
	}
}

// waitNotRunning waits until the server on a data directory accepts no connections.
func waitNotRunning(t *testing.T, data string) {
	t.Helper()
	client := server.NewClient(server.SocketPath(data))
	await.Until(t, "the server to close its socket", func() bool {
		_, err := client.Status(t.Context())
		client.Close()
		if err != nil && !errors.Is(err, server.ErrNotRunning) {
			t.Fatal(err)
		}
		return err != nil
	})
}

// TestStreamClientReadsNothing ends a server while a client of the stdio transport does not read
// its results.
func TestStreamClientReadsNothing(t *testing.T) {
	c := newCommandLine(t)
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	client := server.NewClient(server.SocketPath(c.data))
	defer client.Close()
	stream, err := client.Stream(t.Context(), server.DefaultSession)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	stream.SetWriteDeadline(time.Now().Add(await.Soon)) // earlier than all buffers are full, if the machine is slow
	for i := 0; err == nil; i++ {
		_, err = fmt.Fprintf(stream, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	if err := c.server().Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitGone(t, c.data)
}

// TestIdleSessionOfHost checks that the session of an MCP host ends when it is idle, and that of
// call does not.
func TestIdleSessionOfHost(t *testing.T) {
	t.Parallel() // it mainly waits
	c := newCommandLine(t)
	serve := exec.Command(binary, "serve", "--data", c.data, "--session-idle", "2s")
	stderr, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stderr.Read(make([]byte, 1)); err != nil { // it listens
		t.Fatal(err)
	}
	go io.Copy(io.Discard, stderr)
	if out, err := c.run("call", "chrome_status", "--prefer", "cdp", "--session", "kept"); err != nil {
		t.Fatalf("call: %v\n%s", err, out)
	}
	const ended = `session "host" ended: it was idle for 2s`
	host := exec.Command(binary, "--connect", server.SocketPath(c.data), "--session", "host", "--data", c.data)
	// Its stdin is empty. On a slow machine, the session may end before the host uses it.
	if out, err := host.CombinedOutput(); err != nil && !strings.Contains(string(out), ended) {
		t.Fatalf("--connect: %v\n%s", err, out)
	}
	client := server.NewClient(server.SocketPath(c.data))
	defer client.Close()
	await.Until(t, "the end of the idle session", func() bool {
		infos, err := client.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(infos) == 1 && infos[0].Name == "kept" && infos[0].Ends.IsZero()
	})
	if _, err := client.Stream(t.Context(), "host"); err == nil || !strings.Contains(err.Error(), ended) {
		t.Errorf("the session of the host: %v", err)
	}
	if out, err := c.run("serve", "stop"); err != nil {
		t.Errorf("serve stop: %v\n%s", err, out)
	}
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}
