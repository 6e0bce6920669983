package acpagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// A toolServer is the agent's connection to its MCP server. Calls run one at a time, and are never
// canceled.
type toolServer struct {
	in   io.Writer
	out  *bufio.Reader
	sent int
}

// call calls a tool of the MCP server of the session, which is started at the first call, and returns
// the text of the result, or an error as text.
func (a *agent) call(tool string, args json.RawMessage) string {
	if a.tools == nil {
		tools, err := startToolServer(a.servers)
		if err != nil {
			return err.Error()
		}
		a.tools = tools
	}
	result, err := a.tools.request("tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return err.Error()
	}
	var content struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(result, &content); err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, c := range content.Content {
		text.WriteString(c.Text)
	}
	return text.String()
}

// startToolServer starts the only one of the servers in a request for a session. It ends with the
// agent.
func startToolServer(servers json.RawMessage) (*toolServer, error) {
	var list []struct {
		Command string
		Args    []string
	}
	if err := json.Unmarshal(servers, &list); err != nil {
		return nil, err
	}
	cmd := exec.Command(list[0].Command, list[0].Args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &toolServer{in: in, out: bufio.NewReader(out)}
	if _, err := s.request("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "test-agent", "version": "1.2.3"},
	}); err != nil {
		return nil, err
	}
	return s, s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
}

func (s *toolServer) send(m any) error {
	data, err := json.Marshal(m)
	if err == nil {
		_, err = s.in.Write(append(data, '\n'))
	}
	return err
}

// request sends a request and waits for its result.
func (s *toolServer) request(method string, params any) (json.RawMessage, error) {
	s.sent++
	if err := s.send(map[string]any{"jsonrpc": "2.0", "id": s.sent, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil || m.ID != s.sent {
			continue // a notification
		}
		if m.Error != nil {
			return nil, errors.New(string(m.Error))
		}
		return m.Result, nil
	}
}
