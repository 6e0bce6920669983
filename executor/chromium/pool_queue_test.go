package chromium

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/cdpconn"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// fakePool returns a pool of at most two browsers that are not launched.
func fakePool() *Pool {
	return &Pool{MaxBrowsers: 2, run: func(b *pooledBrowser, _ context.Context, _ Options) {
		b.conn = cdpconn.New(cdptest.New(nil))
		close(b.started)
		<-b.conn.Done()
		b.conn.Close()
		b.pool.mu.Lock()
		defer b.pool.mu.Unlock()
		b.forget()
	}}
}

// acquireAs returns a browser for a principal.
func acquireAs(t *testing.T, p *Pool, principal, program string) (*pooledBrowser, error) {
	headless := true
	return p.acquire(t.Context(), Options{Principal: principal, Browser: program, Headless: &headless})
}

// TestPoolQueue checks that principals share no browser, that one waits while there are too many, and
// that the principal with the fewest browsers comes first.
func TestPoolQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakePool()
		defer p.Close()
		must := func(b *pooledBrowser, err error) *pooledBrowser {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
		a := must(acquireAs(t, p, "a", "one"))
		b := must(acquireAs(t, p, "b", "one"))
		if a == b {
			t.Fatal("two principals share a browser")
		}
		if again := must(acquireAs(t, p, "a", "one")); again != a {
			t.Error("a principal does not share its browser")
		}
		got := make(chan string, 2)
		waitFor := func(principal, program string) {
			go func() {
				if _, err := acquireAs(t, p, principal, program); err != nil {
					got <- principal + ": " + err.Error()
					return
				}
				got <- principal
			}()
			synctest.Wait()
		}
		waitFor("a", "two")
		waitFor("c", "one")
		b.leave()
		synctest.Wait()
		if first := <-got; first != "c" {
			t.Errorf("%s got a browser first, want c", first)
		}
		if !b.hasExited() {
			t.Error("the browser without contexts still runs")
		}
		select {
		case next := <-got:
			t.Errorf("%s did not wait", next)
		default:
		}
		a.leave()
		a.leave()
		if next := <-got; next != "a" {
			t.Errorf("then %s, want a", next)
		}
	})
}

// TestPoolQueueTimeout checks that a call does not wait for a browser without limit.
func TestPoolQueueTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakePool()
		defer p.Close()
		for _, principal := range []string{"a", "b"} {
			if _, err := acquireAs(t, p, principal, ""); err != nil {
				t.Fatal(err)
			}
		}
		_, err := acquireAs(t, p, "c", "")
		wantCode(t, err, executor.ErrBackpressure)
	})
}

// TestPoolSpentBrowsers checks that a principal cannot keep others from the browsers with those that
// accept no further contexts.
func TestPoolSpentBrowsers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		first  string // principal of the first browser
		spend  func(*pooledBrowser)
		second string // principal of the second browser
		ends   bool   // the first one ends when another principal needs a browser
	}{
		{"retired", "b", (*pooledBrowser).retire, "b", true},
		{"many contexts were created", "b", func(b *pooledBrowser) { b.created = maxContextsCreated }, "b", true},
		{"only browser of its principal", "b", (*pooledBrowser).retire, "c", false},
		{"of the operating-system user", "", (*pooledBrowser).retire, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := fakePool()
				defer p.Close()
				first, err := acquireAs(t, p, tt.first, "")
				if err != nil {
					t.Fatal(err)
				}
				tt.spend(first)
				second, err := acquireAs(t, p, tt.second, "")
				if err != nil {
					t.Fatal(err)
				}
				if second == first {
					t.Fatal("a spent browser has another user")
				}
				_, err = acquireAs(t, p, "a", "")
				synctest.Wait()
				if tt.ends && err != nil {
					t.Error(err)
				} else if !tt.ends {
					wantCode(t, err, executor.ErrBackpressure)
				}
				if first.hasExited() != tt.ends {
					t.Errorf("the spent browser has ended: %v, want %v", first.hasExited(), tt.ends)
				}
				if second.hasExited() {
					t.Error("the other browser has ended")
				}
			})
		})
	}
}
