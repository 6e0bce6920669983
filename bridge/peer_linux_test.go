package bridge

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/internal/testing/tier"
	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// otherUID is the id of a user that does not run the tests.
const otherUID = 65534

func init() {
	flood = func(address string) {
		for _, err := range []error{syscall.Setgroups(nil), syscall.Setgid(otherUID), syscall.Setuid(otherUID)} {
			if err != nil {
				fmt.Println(err)
				return
			}
		}
		if conn, err := net.Dial("tcp", address); err == nil { // a connection with a slot gets a response
			io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if answer, _ := io.ReadAll(conn); len(answer) > 0 {
				fmt.Println("the server responds to another user")
				return
			}
		}
		var dialed atomic.Int64
		for range 8 {
			go func() {
				for {
					conn, err := net.Dial("tcp", address)
					if err != nil {
						fmt.Println(err)
						return
					}
					if dialed.Add(1) == 500 {
						fmt.Println("ready")
					}
					go io.Copy(io.Discard, conn) // keep it open until the server closes it
				}
			}()
		}
		io.Copy(io.Discard, os.Stdin) // until the test ends
	}
}

// TestFloodOfAnotherUser checks that connections of another user occupy no slots, in any number.
func TestFloodOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("CI must run this test as root")
		}
		t.Skip("needs root to switch users")
	}
	s, dir, _ := start(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=127.0.0.1:%d", helperEnv, s.Port()))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the other user prints %q, %v", line, err)
	}
	connections := 5
	if tier.DeepEnabled() {
		connections = 20
	}
	for n := range connections {
		name := fmt.Sprintf("installation%d", n)
		c := connect(t, s, name, wire.KeyToken, token(t, s, dir))
		c.answer(echo)
		checkWorks(t, waitConn(t, s, name))
	}
}

func TestOwnerOf(t *testing.T) {
	a, b := connected(t)
	uid, ok := ownerOf(addrPort(a.RemoteAddr()), addrPort(a.LocalAddr()))
	if !ok || int(uid) != os.Geteuid() {
		t.Errorf("the owner is %d, %v, want %d", uid, ok, os.Geteuid())
	}
	if otherUsers(addrPort(a.LocalAddr()), addrPort(a.RemoteAddr())) {
		t.Error("our own connection counts as another user's")
	}
	if uid, ok := ownerOf(addrPort(b.LocalAddr()), addrPort(b.LocalAddr())); ok {
		t.Errorf("connection that does not exist has owner %d", uid)
	}
}

// TestOwnerOfClosed checks that a connection that its owner closes immediately
// does not count as root's, although the kernel reports root as its owner.
func TestOwnerOfClosed(t *testing.T) {
	server, client := connected(t)
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	if uid, ok := ownerOf(addrPort(server.RemoteAddr()), addrPort(server.LocalAddr())); !ok || uid != noUser {
		t.Errorf("the owner of a closed connection is %d, %v, want %d", uid, ok, noUser)
	}
	if !otherUsers(addrPort(server.LocalAddr()), addrPort(server.RemoteAddr())) {
		t.Error("a closed connection counts as ours")
	}
}

func BenchmarkOwnerOf(b *testing.B) {
	conn, _ := connected(b)
	remote, local := addrPort(conn.RemoteAddr()), addrPort(conn.LocalAddr())
	for b.Loop() {
		if _, ok := ownerOf(remote, local); !ok {
			b.Fatal("not found")
		}
	}
}

// connected returns both ends of a connection.
func connected(t testing.TB) (server, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp4", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close(); client.Close() })
	return server, client
}
