package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// Limits of the tools/list result, in bytes.
const (
	maxListed     = 9216  // names, descriptions and input schemas: the prompt size
	maxStructured = 16384 // complete result with output schemas
)

// listBytes returns the tools/list result as sent to the client.
func listBytes(t *testing.T, opts *Options) []byte {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- NewServer(&fake{}, opts).Run(t.Context(), &sdk.IOTransport{Reader: inR, Writer: outW})
	}()
	dec := json.NewDecoder(outR)
	request := func(msg string) json.RawMessage {
		t.Helper()
		io.WriteString(inW, msg+"\n")
		var reply struct{ Result, Error json.RawMessage }
		if err := dec.Decode(&reply); err != nil || reply.Error != nil {
			t.Fatalf("%s: %v %s", msg, err, reply.Error)
		}
		return reply.Result
	}
	request(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	io.WriteString(inW, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	list := request(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	inW.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return list
}

func TestListSize(t *testing.T) {
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	raw := listBytes(t, nil)
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 26 {
		t.Errorf("%d tools, want 26", len(list.Tools))
	}
	listed := 0
	for _, tool := range list.Tools {
		listed += len(tool.Name) + len(tool.Description) + len(tool.InputSchema)
	}
	structured := len(listBytes(t, &Options{Structured: true}))
	t.Logf("names, descriptions and input schemas: %d of %d bytes; complete result %d; with output schemas %d of %d",
		listed, maxListed, len(raw), structured, maxStructured)
	if listed > maxListed {
		t.Errorf("names, descriptions and input schemas take %d bytes, want at most %d", listed, maxListed)
	}
	if structured > maxStructured {
		t.Errorf("the structured list takes %d bytes, want at most %d", structured, maxStructured)
	}
}

func TestSchemasAreWhatHostsAccept(t *testing.T) {
	for _, tool := range allTools() {
		in, out := toolschema.Input(tool.args), toolschema.Output(tool.result)
		var m map[string]any
		for _, s := range []string{in, out} {
			m = nil
			if err := json.Unmarshal([]byte(s), &m); err != nil {
				t.Fatalf("%s: %v", tool.name, err)
			}
			for _, key := range []string{"$schema", "title", "oneOf", "anyOf", "allOf", "$defs"} {
				if _, ok := m[key]; ok {
					t.Errorf("%s: schema has %s", tool.name, key)
				}
			}
			if bytes.Contains([]byte(s), []byte(`"null"`)) {
				t.Errorf("%s: schema has a null union", tool.name)
			}
			if m["type"] != "object" || m["properties"] == nil {
				t.Errorf("%s: schema is not an object schema with properties", tool.name)
			}
		}
		if !strings.Contains(in, `"additionalProperties":false`) {
			t.Errorf("%s: unknown arguments are not excluded", tool.name)
		}
	}
}

func TestAnnotationsAreExplicit(t *testing.T) {
	var list struct {
		Tools []struct {
			Name        string
			Annotations map[string]bool
		}
	}
	if err := json.Unmarshal(listBytes(t, nil), &list); err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := tool.Annotations[hint]; !ok {
				t.Errorf("%s: %s is not set", tool.Name, hint)
			}
		}
		if tool.Annotations["readOnlyHint"] && tool.Annotations["destructiveHint"] {
			t.Errorf("%s: read-only and destructive", tool.Name)
		}
	}
}

func TestInstructions(t *testing.T) {
	cs := connect(t, NewServer(&fake{}, &Options{Version: "1.2.3"}), nil)
	init := cs.InitializeResult()
	if init.Instructions != Instructions || init.ServerInfo.Version != "1.2.3" || init.ServerInfo.Name != "chrome-mcp" {
		t.Errorf("initialize returned %+v", init)
	}
	if n := len(Instructions); n >= 1024 {
		t.Errorf("instructions take %d bytes, want less than 1024", n)
	}
	for _, name := range []string{"tabId", "ref", "<page ", "--allow-domain", "--enable-mutations", "--enable-downloads"} {
		if !strings.Contains(Instructions, name) {
			t.Errorf("instructions do not name %s", name)
		}
	}
	if strings.Contains(Instructions, "unsafe") {
		t.Error("instructions name an unsafe flag")
	}
	if raw, err := json.Marshal(init.Capabilities); err != nil || string(raw) != `{"tools":{}}` {
		t.Errorf("capabilities %s, %v, want tools alone", raw, err)
	}
}

// TestTableOrder checks that docs/tools.md documents all tools, in the order of the contract.
func TestTableOrder(t *testing.T) {
	doc, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(doc)) {
		if name, ok := strings.CutPrefix(line, "## "); ok && name == strings.ToLower(name) { // other headings are capitalized
			names = append(names, strings.TrimSpace(name))
		}
	}
	want := []string{
		"tabs_list", "tab_select", "tab_new", "tab_close", "navigate", "back", "forward", "reload",
		"click", "type", "press", "hover", "scroll", "select_option", "snapshot", "screenshot",
		"get_text", "get_html", "eval", "wait_for", "extract_links", "read_as_markdown", "fill_form",
		"download_file", "handle_dialog", "chrome_status",
	}
	if len(names) < len(want) || !slices.Equal(names[:len(want)], want) {
		t.Errorf("documented tools %v, want %v first", names, want)
	}
	if all := allTools(); len(names) != len(all) {
		t.Errorf("%d tools are documented, want %d", len(names), len(all))
	}
}
