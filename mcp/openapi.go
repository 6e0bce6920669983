package mcp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/internal/toolschema"
)

// ToolInfo describes a tool.
type ToolInfo struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Toolset      Toolset         `json:"toolset"`
	InputSchema  json.RawMessage `json:"inputSchema"`  // JSON schema of the arguments
	OutputSchema json.RawMessage `json:"outputSchema"` // JSON schema of the structured result
}

// Tools describes the tools of all toolsets, in the order of the documentation.
func Tools() (infos []ToolInfo) {
	for _, t := range allTools() {
		infos = append(infos, t.info())
	}
	return infos
}

// FindTool describes one tool. It reports false if there is no tool of that name.
func FindTool(name string) (ToolInfo, bool) {
	if t := findTool(allTools(), name); t != nil {
		return t.info(), true
	}
	return ToolInfo{}, false
}

func (t *tool) info() ToolInfo {
	return ToolInfo{t.name, t.desc, toolsetOf(t.name), json.RawMessage(toolschema.Input(t.args)), json.RawMessage(toolschema.Output(t.result))}
}

// toolPath returns the path at which a server offers a tool in the session {name}.
func toolPath(tool string) string { return "/v1/sessions/{name}/tools/" + tool }

// A jsonObject is a part of the OpenAPI document.
type jsonObject = map[string]any

// openAPIBase is the part of the OpenAPI document that depends neither on the tools nor on the error
// codes.
//
//go:embed openapi.json
var openAPIBase []byte

// OpenAPI returns the OpenAPI 3.1 document of a server that offers the tools of all toolsets in
// named sessions: one path for each tool, and those of the sessions. version is the version of the
// program.
func OpenAPI(version string) json.RawMessage {
	var doc struct {
		OpenAPI    string          `json:"openapi"`
		Info       jsonObject      `json:"info"`
		Servers    json.RawMessage `json:"servers"`
		Security   json.RawMessage `json:"security"`
		Tags       []jsonObject    `json:"tags"`
		Paths      jsonObject      `json:"paths"`
		Components jsonObject      `json:"components"`
	}
	if err := json.Unmarshal(openAPIBase, &doc); err != nil {
		panic(err) // it is embedded
	}
	doc.Info["version"] = version
	doc.Info["description"] = doc.Info["description"].(string) + "\n\nA tool has a kind: " + kindsLegend
	for _, method := range []string{"put", "delete"} {
		addErrors(objectAt(doc.Paths, "/v1/sessions/{name}", method, "responses"))
	}
	addErrors(objectAt(doc.Paths, "/v1/sessions", "get", "responses"))
	for _, set := range toolsets {
		tag := "toolset " + string(set.name)
		doc.Tags = append(doc.Tags, jsonObject{"name": tag, "description": set.desc})
		for _, t := range set.tools {
			doc.Paths[toolPath(t.name)] = t.openAPI(tag)
		}
	}
	doc.Components["responses"] = errorResponses()
	objectAt(doc.Components, "schemas", "Error", "properties", "code")["enum"] = executor.Codes()
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // only JSON, strings and the schemas of the table
	}
	return text
}

// objectAt returns the object at a path of names in o.
func objectAt(o jsonObject, names ...string) jsonObject {
	for _, name := range names {
		o = o[name].(jsonObject)
	}
	return o
}

// openAPI returns the path item of the tool.
func (t *tool) openAPI(tag string) jsonObject {
	h := t.kind.hints
	var about []string
	for _, hint := range []struct {
		text string
		set  bool
	}{{"read-only", h.readOnly}, {"destructive", h.destructive}, {"idempotent", h.idempotent}} {
		if hint.set {
			about = append(about, hint.text)
		}
	}
	details := "Kind: " + t.kind.letter + "."
	if len(about) > 0 {
		details += " The tool is " + strings.Join(about, " and ") + "."
	}
	responses := jsonObject{"200": jsonObject{
		"description": "The tool succeeded.",
		"content": jsonContent(jsonObject{
			"type": "object", "required": []string{"text"},
			"properties": jsonObject{
				"text":   jsonObject{"type": "string", "description": "The result as text for a model."},
				"result": json.RawMessage(toolschema.Output(t.result)),
				"images": jsonObject{"type": "array", "items": schemaRef("Image")},
				"note":   schemaRef("Note"),
			},
		}),
	}}
	addErrors(responses)
	return jsonObject{
		"parameters": []any{jsonObject{"$ref": "#/components/parameters/session"}},
		"post": jsonObject{
			"operationId": t.name, "tags": []string{tag}, "summary": t.desc, "description": details, "responses": responses,
			"requestBody": jsonObject{
				"required": slices.ContainsFunc(toolschema.Params(t.args), func(p toolschema.Param) bool { return p.Required }),
				"content":  jsonContent(json.RawMessage(toolschema.Input(t.args))),
			},
		},
	}
}

// errorResponses returns the responses that report errors, by names without spaces.
func errorResponses() jsonObject {
	causes := map[int][]string{}
	for _, code := range executor.Codes() {
		status := errclass.Of(code).Status
		causes[status] = append(causes[status], string(code))
	}
	causes[http.StatusNotFound] = append(causes[http.StatusNotFound], "or BAD_ARGS for an unknown session or tool")
	causes[http.StatusForbidden] = append(causes[http.StatusForbidden], "also for the Host or Origin of a request over TCP")
	causes[http.StatusUnauthorized] = []string{"POLICY_DENIED: the request has no valid token"}
	failure := func(description string) jsonObject {
		return jsonObject{"description": description, "content": jsonContent(schemaRef("Failure"))}
	}
	responses := jsonObject{
		"Rejected": failure(fmt.Sprintf("BAD_ARGS: wrong method (405), a body of more than %d MiB, or 4 MiB over TCP (413), or a content type other than JSON (415). "+
			"NO_BACKEND: the server is stopping (503).", mcptransport.MaxMessage>>20)),
	}
	for status, codes := range causes {
		response := failure(strings.Join(codes, ", ") + ".")
		if status == http.StatusTooManyRequests {
			response["headers"] = jsonObject{"Retry-After": jsonObject{"$ref": "#/components/headers/Retry-After"}}
		}
		responses[responseName(status)] = response
	}
	return responses
}

func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// addErrors adds the error responses to those of an operation.
func addErrors(responses jsonObject) {
	statuses := []int{http.StatusUnauthorized}
	for _, code := range executor.Codes() {
		statuses = append(statuses, errclass.Of(code).Status)
	}
	for _, status := range statuses {
		responses[strconv.Itoa(status)] = jsonObject{"$ref": "#/components/responses/" + responseName(status)}
	}
	responses["default"] = jsonObject{"$ref": "#/components/responses/Rejected"}
}

// jsonContent returns the content of a request or response that is JSON.
func jsonContent(schema any) jsonObject {
	return jsonObject{"application/json": jsonObject{"schema": schema}}
}

func schemaRef(name string) jsonObject { return jsonObject{"$ref": "#/components/schemas/" + name} }
