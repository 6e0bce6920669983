package rest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
	"github.com/chrome-mcp/chrome-mcp/internal/mcptransport"
	"github.com/chrome-mcp/chrome-mcp/mcp"
)

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
	doc.Info["description"] = doc.Info["description"].(string) + "\n\nA tool has a kind: " + mcp.KindsLegend
	for _, method := range []string{"put", "delete"} {
		addErrors(objectAt(doc.Paths, "/v1/sessions/{name}", method, "responses"))
	}
	addErrors(objectAt(doc.Paths, "/v1/sessions", "get", "responses"))
	for _, set := range mcp.Toolsets() {
		doc.Tags = append(doc.Tags, jsonObject{"name": tagOf(set), "description": set.Description()})
	}
	for _, tool := range mcp.Tools() {
		doc.Paths[toolPath(tool.Name)] = pathItem(tool)
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

// tagOf returns the tag of the tools of a toolset.
func tagOf(set mcp.Toolset) string { return "toolset " + string(set) }

// pathItem returns the path item of a tool.
func pathItem(tool mcp.ToolInfo) jsonObject {
	var about []string
	for _, hint := range []struct {
		text string
		set  bool
	}{
		{"read-only", tool.Annotations.ReadOnlyHint},
		{"destructive", *tool.Annotations.DestructiveHint},
		{"idempotent", tool.Annotations.IdempotentHint},
	} {
		if hint.set {
			about = append(about, hint.text)
		}
	}
	details := "Kind: " + tool.Kind + "."
	if len(about) > 0 {
		details += " The tool is " + strings.Join(about, " and ") + "."
	}
	responses := jsonObject{"200": jsonObject{
		"description": "The tool succeeded.",
		"content": jsonContent(jsonObject{
			"type": "object", "required": []string{"text"},
			"properties": jsonObject{
				"text":   jsonObject{"type": "string", "description": "The result as text for a model."},
				"result": tool.OutputSchema,
				"images": jsonObject{"type": "array", "items": schemaRef("Image")},
				"note":   schemaRef("Note"),
			},
		}),
	}}
	addErrors(responses)
	return jsonObject{
		"parameters": []any{jsonObject{"$ref": "#/components/parameters/session"}},
		"post": jsonObject{
			"operationId": tool.Name, "tags": []string{tagOf(tool.Toolset)}, "summary": tool.Description, "description": details, "responses": responses,
			"requestBody": jsonObject{"required": hasRequired(tool.InputSchema), "content": jsonContent(tool.InputSchema)},
		},
	}
}

// hasRequired reports whether a schema requires a property.
func hasRequired(schema json.RawMessage) bool {
	var s struct{ Required []string }
	if err := json.Unmarshal(schema, &s); err != nil {
		panic(err) // the schemas are generated
	}
	return len(s.Required) > 0
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
