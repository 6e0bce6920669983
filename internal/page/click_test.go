package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/chromedp/cdproto"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/deniedscripts"
	"github.com/chrome-mcp/chrome-mcp/internal/testing/cdptest"
)

// TestClickSteps checks which commands a click sends, in which order, and after which it waits for
// the browser: each line is sent before the browser has replied to any of its commands.
func TestClickSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// What the page scripts return.
		results := map[string]string{
			"startTracking":  `"Shop"`,
			"query":          `{"error":"","total":1,"nth":false,"matches":[[7,true]],"item":""}`,
			"waitActionable": `{"ok":true,"x":40,"y":30,"pinch":[0,0],"moved":false,"frame":0}`,
			"startCheck":     `""`,
			"finishCheck":    `{"seen":[{"type":"pointerdown","ok":true},{"type":"mousedown","ok":true},{"type":"click","ok":true}],"left":"","disabled":false,"file":false,"invalid":[]}`,
			"waitForQuiet":   `{"title":"Cart","changed":true,"outline":null,"target":null}`,
		}
		var mu sync.Mutex
		var sent []string
		var unanswered []*cdproto.Message
		b := cdptest.New(func(_ *cdptest.FakeTransport, cmd *cdproto.Message) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, commandName(cmd))
			unanswered = append(unanswered, cmd)
		})
		// reply replies to the commands that were sent, and returns their names.
		reply := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			names := sent
			for _, cmd := range unanswered {
				result := "{}"
				if cmd.Method == "Runtime.callFunctionOn" {
					result = fmt.Sprintf(`{"result":{"type":"object","value":%s}}`, cmp.Or(results[commandName(cmd)], "null"))
				} else if cmd.Method == "Page.addScriptToEvaluateOnNewDocument" {
					result = `{"identifier":"1"}`
				}
				b.Reply(cmd, result)
			}
			sent, unanswered = nil, nil
			return names
		}
		replying := make(chan struct{})
		go func() { // while the tab is attached and loads
			for {
				select {
				case <-replying:
					return
				default:
					reply()
				}
			}
		}()
		tab := attach(t, b)
		load(t, b, tab, 1)
		replying <- struct{}{}
		v := tab.NewView(ViewOptions{Gate: executor.AllowAll, AfterAction: executor.AfterNone})
		done := make(chan error, 1)
		go func() {
			_, err := v.Click(t.Context(), executor.Target{Selector: "#buy"}, nil)
			done <- err
		}()
		var steps []string
		for {
			names := reply()
			if len(names) == 0 {
				break
			}
			steps = append(steps, strings.Join(names, " "))
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := len(steps); n > 0 {
			after := strings.Fields(steps[n-1]) // nothing waits for these, and some are sent by a goroutine
			slices.Sort(after)
			steps[n-1] = strings.Join(after, " ")
		}
		want := []string{
			"evaluate query",
			"setInterceptFileChooserDialog startTracking waitActionable",
			"setAutoAttach addScriptToEvaluateOnNewDocument unblockInput startCheck",
			"mouseMoved mousePressed mouseReleased",
			"waitForQuiet finishCheck",
			"removeScriptToEvaluateOnNewDocument setAutoAttach setInterceptFileChooserDialog stopTracking",
		}
		if !slices.Equal(steps, want) {
			t.Errorf("a click sends\n%s\nwant\n%s", strings.Join(steps, "\n"), strings.Join(want, "\n"))
		}
	})
}

// commandName returns the name of a command for TestClickSteps: of the function that it calls, or
// its method.
func commandName(cmd *cdproto.Message) string {
	var params struct {
		Function  string `json:"functionDeclaration"`
		Type      string `json:"type"`
		Arguments []struct {
			Value string `json:"value"`
		} `json:"arguments"`
	}
	json.Unmarshal(cmd.Params, &params)
	switch {
	case params.Function == deniedscripts.UnblockInput:
		return "unblockInput"
	case params.Function == deniedscripts.BlockInput:
		return "blockInput"
	case len(params.Arguments) > 0:
		return params.Arguments[0].Value
	case params.Type != "":
		return params.Type
	}
	_, name, _ := strings.Cut(string(cmd.Method), ".")
	return name
}
