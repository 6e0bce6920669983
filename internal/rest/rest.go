// Package rest serves the tools of an [mcp.Workspace] to plain HTTP requests, without MCP, and
// describes them in an OpenAPI document.
package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptext"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// A toolResponse is the body of the response to a call that succeeded.
type toolResponse struct {
	Text   string          `json:"text"`
	Result json.RawMessage `json:"result,omitempty"` // structured
	Images []imageResponse `json:"images,omitempty"`
	Note   string          `json:"note,omitempty"` // also the last line of Text
}

type imageResponse struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

// An errorResponse is the body of any other response.
type errorResponse struct {
	Error mcp.ErrorInfo `json:"error"`
	Note  string        `json:"note,omitempty"`
}

// ServeTool serves one call of a tool of ws, without MCP. The body of the request, a POST request, is
// the JSON object of the tool's arguments; no body means no arguments. The response has the status 200
// and the members text, result, images and note, or the status of the error's code and the members
// error and note. [OpenAPI] describes both.
//
// Calls share ws with those of MCP clients. A call continues if its client disconnects, as
// over MCP: a lost connection must not leave an action half done. If its result does not reach the
// client, the next result of the workspace reports it. The caller has authenticated the request and
// checked its Host and Origin.
func ServeTool(ws *mcp.Workspace, w http.ResponseWriter, r *http.Request, tool string) {
	call, err := ws.Tool(tool)
	if err != nil {
		rejectRequest(w, http.StatusNotFound, err.Error(), "GET /v1/tools lists the tools.")
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		rejectRequest(w, http.StatusMethodNotAllowed, "method "+mcptext.QuoteShort(r.Method)+" is not allowed", "Send a POST request.")
		return
	}
	if !acceptsContentType(r.Header.Get("Content-Type")) {
		rejectRequest(w, http.StatusUnsupportedMediaType, "content type "+mcptext.QuoteShort(r.Header.Get("Content-Type"))+" is not application/json",
			"Send the arguments as a JSON object, with this content type.")
		return
	}
	args, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mcptransport.MaxMessage))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			rejectRequest(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d MiB", mcptransport.MaxMessage>>20), "Send less.")
		} else {
			rejectRequest(w, http.StatusBadRequest, "the body was not received: "+err.Error(), "")
		}
		return
	}
	client := cmp.Or(strings.TrimSpace(r.UserAgent()), "http")
	ws.Deliver(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		respond(w, call(context.WithoutCancel(r.Context()), client, args))
	}), w, r)
}

// acceptsContentType reports whether a request may have a content type: that of JSON, none, or the one
// that curl -d sends by default. The body must be JSON in any case.
func acceptsContentType(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || media == "application/x-www-form-urlencoded")
}

// respond writes the result of a call.
func respond(w http.ResponseWriter, res *sdk.CallToolResult) {
	note, _ := res.Meta[mcp.NoteKey].(string)
	if m, ok := res.Meta[mcp.ErrorKey].(mcp.ErrorInfo); ok {
		respondError(w, m, note)
		return
	}
	body := toolResponse{Note: note}
	for _, content := range res.Content {
		switch content := content.(type) {
		case *sdk.TextContent:
			body.Text = content.Text
		case *sdk.ImageContent:
			body.Images = append(body.Images, imageResponse{content.MIMEType, content.Data})
		}
	}
	body.Result, _ = res.StructuredContent.(json.RawMessage)
	writeJSON(w, http.StatusOK, body)
}

// respondError writes the error of a call.
func respondError(w http.ResponseWriter, m mcp.ErrorInfo, note string) {
	status := errclass.Of(m.Code).Status
	if status == http.StatusTooManyRequests && m.Retryable {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(m.RetryAfter.Seconds())))))
	}
	writeJSON(w, status, errorResponse{m, note})
}

// rejectRequest answers a request that is not a call. No tool runs.
func rejectRequest(w http.ResponseWriter, status int, message, hint string) {
	writeJSON(w, status, errorResponse{Error: mcp.ErrorInfo{Code: executor.ErrBadArgs, Message: mcptext.OneLine(message), Hint: hint}})
}

// writeJSON writes a response and sends it, which fails only if the client has disconnected.
func writeJSON(w http.ResponseWriter, status int, body any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // strings, and JSON that was checked
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	if _, err := w.Write(b.Bytes()); err == nil {
		_ = http.NewResponseController(w).Flush() // see mcp.Workspace.Deliver
	}
}
