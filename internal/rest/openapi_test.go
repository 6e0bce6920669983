package rest

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

// An openAPIResponse is a response in the document, or a reference to one.
type openAPIResponse struct {
	Ref         string `json:"$ref"`
	Description string
	Headers     map[string]any
	Content     map[string]struct{ Schema json.RawMessage }
}

type openAPIOperation struct {
	OperationID, Summary, Description string
	Tags                              []string
	RequestBody                       struct {
		Required bool
		Content  map[string]struct{ Schema json.RawMessage }
	}
	Responses map[string]openAPIResponse
}

// TestOpenAPI checks that the document has one path for each tool with the schemas of the tool, and
// no other paths of tools. TestREST in cmd/chrome-mcp validates it.
func TestOpenAPI(t *testing.T) {
	var doc struct {
		OpenAPI string
		Info    struct{ Version string }
		Paths   map[string]struct{ Post openAPIOperation }
	}
	if err := json.Unmarshal(OpenAPI("v1.2.3"), &doc); err != nil || doc.OpenAPI != "3.1.0" || doc.Info.Version != "v1.2.3" {
		t.Fatalf("OpenAPI %q, version %q: %v", doc.OpenAPI, doc.Info.Version, err)
	}
	for _, tool := range mcp.Tools() {
		path := "/v1/sessions/{name}/tools/" + tool.Name
		op, ok := doc.Paths[path]
		if !ok {
			t.Errorf("%s has no path", tool.Name)
			continue
		}
		delete(doc.Paths, path)
		post := op.Post
		if post.OperationID != tool.Name || post.Summary != tool.Description || !strings.HasPrefix(post.Description, "Kind: "+tool.Kind+".") || !slices.Equal(post.Tags, []string{"toolset " + string(tool.Toolset)}) {
			t.Errorf("%s: %+v", tool.Name, post)
		}
		sameJSON(t, tool.Name, post.RequestBody.Content["application/json"].Schema, tool.InputSchema)
		if required := bytes.Contains(tool.InputSchema, []byte(`},"required":[`)); post.RequestBody.Required != required {
			t.Errorf("%s: a body is required: %t, want %t", tool.Name, post.RequestBody.Required, required)
		}
		var body struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(post.Responses["200"].Content["application/json"].Schema, &body); err != nil {
			t.Error(err)
		}
		sameJSON(t, tool.Name, body.Properties["result"], tool.OutputSchema)
	}
	for path := range doc.Paths {
		if strings.Contains(path, "/tools/") {
			t.Errorf("%s is not the path of a tool", path)
		}
	}
}

// sameJSON checks that two JSON texts have the same value.
func sameJSON(t *testing.T, what string, got, want json.RawMessage) {
	t.Helper()
	canonical := func(raw json.RawMessage) string {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Errorf("%s: %s: %v", what, raw, err)
		}
		text, _ := json.Marshal(v)
		return string(text)
	}
	if got, want := canonical(got), canonical(want); got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// TestOpenAPIErrors checks that each code is in the response of its status, and that every tool has
// these responses.
func TestOpenAPIErrors(t *testing.T) {
	var doc struct {
		Paths      map[string]struct{ Post openAPIOperation }
		Components struct {
			Responses map[string]openAPIResponse
			Schemas   struct {
				Error struct {
					Properties struct {
						Code struct{ Enum []executor.Code }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(OpenAPI(""), &doc); err != nil {
		t.Fatal(err)
	}
	if codes := doc.Components.Schemas.Error.Properties.Code.Enum; !slices.Equal(codes, executor.Codes()) {
		t.Errorf("codes %v", codes)
	}
	responses := doc.Paths[toolPath("click")].Post.Responses
	for _, code := range executor.Codes() {
		status := errclass.Of(code).Status
		ref := responses[strconv.Itoa(status)].Ref
		response := doc.Components.Responses[strings.TrimPrefix(ref, "#/components/responses/")]
		if !strings.Contains(response.Description, string(code)) {
			t.Errorf("%s: response %d is %q, %+v", code, status, ref, response)
		}
		if (response.Headers["Retry-After"] != nil) != (status == http.StatusTooManyRequests) {
			t.Errorf("response %d has the headers %v", status, response.Headers)
		}
	}
	want := slices.Sorted(maps.Keys(responses))
	for path, item := range doc.Paths {
		if strings.Contains(path, "/tools/") && !slices.Equal(slices.Sorted(maps.Keys(item.Post.Responses)), want) {
			t.Errorf("%s has the responses %v, click %v", path, slices.Sorted(maps.Keys(item.Post.Responses)), want)
		}
	}
}
