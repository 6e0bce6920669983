package extension_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// A fakeChats is the native messaging host of the chats, with an agent that follows a script.
type fakeChats struct {
	servers string // the file with the list of servers

	mu      sync.Mutex // guards the fields below, and writes
	chats   []*fakeChat
	answers map[string]chan string // by request
}

// A fakeChat is a chat. Its entries have the sequence numbers from 1.
type fakeChat struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Site    string `json:"site"`
	Agent   string `json:"agent"`
	Created int64  `json:"created"`
	Updated int64  `json:"updated"`
	Open    bool   `json:"open"`
	Running bool   `json:"running"`

	entries []object
	cancel  chan bool
}

type object = map[string]any

// bigChat is the number of entries of the chat "big".
const bigChat = 10_000

// chatHost serves chats until the browser closes the port.
func chatHost(servers string) {
	now := time.Now().UnixMilli()
	h := &fakeChats{servers: servers, answers: map[string]chan string{}}
	stored := func(id, title, site, agent string, minutes int64) *fakeChat {
		c := &fakeChat{ID: id, Title: title, Site: site, Agent: agent, Created: now, Updated: now - minutes*60_000}
		h.chats = append(h.chats, c)
		return c
	}
	stored("hotel", "Which of these hotels has a quiet room?", "hotels.example", "claude-code", 40).entries = []object{
		{"seq": 1, "at": now, "kind": "user", "text": "Which of these hotels has a quiet room?"},
		{"seq": 2, "at": now, "kind": "agent", "text": "The **Garden Hotel**: its rooms 12 to 18 face the courtyard."},
	}
	stored("order", "Summarize order 1042", "shop.example", "gemini", 26*60)
	big := stored("big", "A long chat", "shop.example", "codex", 80*60)
	for i := 1; i <= bigChat; i++ {
		e := object{"seq": i, "at": now, "kind": "agent", "text": fmt.Sprintf("Message %d with **bold** text, `code` and a list:\n\n- one\n- two\n\n> %s", i, strings.Repeat("words and ", i%30))}
		switch i % 5 {
		case 0:
			e = object{"seq": i, "at": now, "kind": "user", "text": fmt.Sprintf("Question %d", i)}
		case 1:
			e = object{"seq": i, "at": now, "kind": "tool", "tool": object{"id": fmt.Sprint(i), "title": "get_text", "kind": "read", "status": "completed", "site": "shop.example", "output": "Line\nof the page"}}
		}
		big.entries = append(big.entries, e)
	}
	h.write(object{"v": wire.Version, "type": "chats"})
	for {
		m, err := readMessage()
		if err != nil {
			return
		}
		params, _ := m["params"].(object)
		go func() {
			result, message := h.handle(m["method"].(string), params)
			if message != "" {
				h.write(object{"id": m["id"], "error": object{"code": "FAILED", "message": message, "hint": ""}})
				return
			}
			h.write(object{"id": m["id"], "result": result})
		}()
	}
}

func (h *fakeChats) write(m any) {
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	binary.Write(os.Stdout, binary.NativeEndian, uint32(len(data)))
	os.Stdout.Write(data)
}

func (h *fakeChats) find(id any) *fakeChat {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.chats {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// handle answers a request with a result, or the message of an error.
func (h *fakeChats) handle(method string, p object) (object, string) {
	c := h.find(p["chat"])
	if c == nil && p["chat"] != nil {
		return nil, "no such chat"
	}
	switch method {
	case "agents":
		return object{"agents": []object{{"name": "claude-code"}, {"name": "gemini"}}}, ""
	case "list":
		h.mu.Lock()
		defer h.mu.Unlock()
		list := []fakeChat{}
		query, _ := p["query"].(string)
		for _, c := range h.chats {
			if strings.Contains(strings.ToLower(c.Title), strings.ToLower(query)) {
				list = append(list, *c)
			}
		}
		return object{"chats": list}, ""
	case "new", "open":
		if c == nil {
			url, _ := p["url"].(string)
			c = &fakeChat{ID: fmt.Sprint(time.Now().UnixNano()), Title: p["title"].(string), Site: strings.TrimPrefix(strings.Join(strings.SplitN(url, "/", 4)[:min(3, strings.Count(url, "/")+1)], "/"), "http://"), Agent: p["agent"].(string)}
			h.mu.Lock()
			h.chats = append(h.chats, c)
			h.mu.Unlock()
		}
		c.Open, c.cancel = true, make(chan bool, 1)
		h.changed(c)
		return object{"chat": *c, "port": h.port(), "resumed": "loaded"}, ""
	case "read":
		return c.read(p), ""
	case "prompt":
		return h.turn(c, p), ""
	case "cancel":
		c.cancel <- true
	case "answer":
		h.mu.Lock()
		answer := h.answers[p["request"].(string)]
		h.mu.Unlock()
		answer <- p["option"].(string)
	case "rename":
		c.Title = p["title"].(string)
		h.changed(c)
	case "close", "delete":
		c.Open = false
		h.changed(c)
		h.write(object{"event": "closed", "chat": c.ID, "message": "", "hint": ""})
		if method == "delete" {
			h.mu.Lock()
			defer h.mu.Unlock()
			for i := range h.chats {
				if h.chats[i] == c {
					h.chats = append(h.chats[:i], h.chats[i+1:]...)
					break
				}
			}
		}
	case "export":
		from, _ := p["from"].(object)
		if seq := from["seq"].(float64); seq > 0 {
			return object{"markdown": "part 2\n"}, ""
		}
		return object{"markdown": "# " + c.Title + "\npart 1\n", "next": object{"seq": 1, "offset": 7}}, ""
	}
	return object{}, ""
}

// port returns the port of the first server that sees only tabs that were given to it.
func (h *fakeChats) port() int {
	var list []struct {
		Port  int
		Given bool
	}
	data, _ := os.ReadFile(h.servers)
	json.Unmarshal(data, &list)
	for _, s := range list {
		if s.Given {
			return s.Port
		}
	}
	return 0
}

func (c *fakeChat) read(p object) object {
	end := len(c.entries)
	if before, ok := p["before"].(float64); ok {
		end = int(before) - 1
	}
	start := max(0, end-int(p["limit"].(float64)))
	return object{"entries": append([]object{}, c.entries[start:end]...), "more": start > 0}
}

func (h *fakeChats) changed(c *fakeChat) {
	c.Updated = time.Now().UnixMilli()
	h.write(object{"event": "chat", "chat": *c})
}

// put adds an entry, or replaces the one with its seq.
func (h *fakeChats) put(c *fakeChat, e object) int {
	if e["seq"] == nil {
		e["seq"], e["at"] = len(c.entries)+1, time.Now().UnixMilli()
		c.entries = append(c.entries, e)
	} else {
		c.entries[e["seq"].(int)-1] = e
	}
	h.write(object{"event": "entry", "chat": c.ID, "entry": e})
	return e["seq"].(int)
}

// turn runs the script for a prompt: "wait" waits for the cancellation, "note" does nothing, "xss" answers
// with what would run in HTML, and everything else shows all kinds of entries.
func (h *fakeChats) turn(c *fakeChat, p object) object {
	text := p["text"].(string)
	c.Running = true
	h.changed(c)
	defer func() {
		c.Running = false
		h.changed(c)
	}()
	user := object{"kind": "user", "text": text}
	if p["quote"] != nil {
		user["quote"] = p["quote"]
	}
	h.put(c, user)
	if strings.HasPrefix(text, "note") {
		return object{"stop": "end_turn"}
	}
	switch text {
	case "wait":
		<-c.cancel
		return object{"stop": "cancelled"}
	case "xss":
		attacks, _ := os.ReadFile(os.Getenv(xssEnv))
		for line := range strings.Lines(string(attacks)) {
			h.put(c, object{"kind": "agent", "text": line})
			h.put(c, object{"kind": "tool", "tool": object{"id": line, "title": line, "kind": line, "status": "completed", "site": line, "input": line, "output": line}})
			h.put(c, object{"kind": "plan", "plan": []object{{"text": line, "status": "pending", "priority": line}}})
		}
		return object{"stop": "end_turn"}
	}
	h.put(c, object{"kind": "plan", "plan": []object{{"text": "Read both offers", "status": "completed", "priority": "high"}, {"text": "Compare prices and shipping", "status": "in_progress", "priority": "medium"}, {"text": "Suggest the cheaper one", "status": "pending", "priority": "low"}}})
	h.put(c, object{"kind": "thought", "text": "The shop shows prices without shipping."})
	h.put(c, object{"kind": "tool", "tool": object{"id": "1", "title": "get_text", "kind": "read", "status": "completed", "site": "shop.example", "input": `{"selector":"main"}`, "output": "Kettle, 1.7 l — 39.90 €\nShipping 4.95 €"}})
	h.put(c, object{"kind": "tool", "tool": object{"id": "2", "title": "click", "kind": "execute", "status": "failed", "site": "shop.example", "input": `{"ref":"e12"}`, "output": "element e12 is covered by a dialog"}})
	seq := h.put(c, object{"kind": "agent", "text": ""})
	answer := "Both shops sell the **same kettle**:\n\n| shop | price | shipping |\n|---|---|---|\n| [Shop](https://shop.example/kettle) | 39.90 € | 4.95 € |\n| Market | 42.00 € | free |\n\nSo *Market* is cheaper by **2.85 €**. To check it yourself:\n\n1. open the cart\n2. choose `standard` shipping\n\n```\ntotal = price + shipping\n```\n"
	for part := range strings.SplitAfterSeq(answer, " ") {
		e := c.entries[seq-1]
		at := utf8.RuneCountInString(e["text"].(string)) // each of them is one code unit of UTF-16
		e["text"] = e["text"].(string) + part
		h.write(object{"event": "append", "chat": c.ID, "seq": seq, "at": at, "text": part})
	}
	request := fmt.Sprint(time.Now().UnixNano())
	chosen := make(chan string, 1)
	h.mu.Lock()
	h.answers[request] = chosen
	h.mu.Unlock()
	permission := object{"request": request, "title": "Run a command", "detail": `curl -s "https://market.example/api/price?id=1042" | jq .total`, "options": []object{
		{"id": "always", "name": "Always allow", "kind": "allow_always"}, {"id": "once", "name": "Allow once", "kind": "allow_once"}, {"id": "no", "name": "Reject", "kind": "reject_once"},
	}}
	seq = h.put(c, object{"kind": "permission", "permission": permission})
	select {
	case option := <-chosen:
		h.put(c, object{"seq": seq, "at": time.Now().UnixMilli(), "kind": "permission", "permission": object{"request": request, "title": permission["title"], "detail": permission["detail"], "options": permission["options"], "chosen": option}})
	case <-c.cancel:
		return object{"stop": "cancelled"}
	}
	h.put(c, object{"kind": "usage", "usage": object{"input": 5120, "output": 312, "total": 5432}})
	return object{"stop": "end_turn"}
}
