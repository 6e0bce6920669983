package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/chrome-mcp/chrome-mcp/executor"
	"github.com/chrome-mcp/chrome-mcp/internal/errclass"
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
func Tools() []ToolInfo {
	return toolInfos(func(string) bool { return true })
}

// FindTool describes one tool. It reports false if there is no tool of that name.
func FindTool(name string) (ToolInfo, bool) {
	infos := toolInfos(func(other string) bool { return other == name })
	if len(infos) == 0 {
		return ToolInfo{}, false
	}
	return infos[0], true
}

// toolInfos describes the tools whose names are wanted.
func toolInfos(wanted func(name string) bool) (infos []ToolInfo) {
	for _, set := range toolsets {
		for _, t := range set.tools {
			if wanted(t.name) {
				infos = append(infos, ToolInfo{t.name, t.desc, set.name, json.RawMessage(inputSchema(t.args)), json.RawMessage(outputSchema(t.result))})
			}
		}
	}
	return infos
}

// toolPath returns the path at which a server offers a tool in the session {name}.
func toolPath(tool string) string { return "/v1/sessions/{name}/tools/" + tool }

// A jsonObject is a part of the OpenAPI document.
type jsonObject map[string]any

// OpenAPI returns the OpenAPI 3.1 document of a server that offers the tools of all toolsets in
// named sessions: one path for each tool, and those of the sessions. version is the version of the
// program.
func OpenAPI(version string) json.RawMessage {
	paths := jsonObject{
		"/v1/sessions": jsonObject{
			"get": operation("listSessions", "sessions", "List the open sessions.", "", jsonObject{
				"200": jsonResponse("The sessions, sorted by name.", arrayOf(schemaRef("Session"))),
			}),
		},
		"/v1/sessions/{name}": jsonObject{
			"parameters": []any{jsonObject{"$ref": "#/components/parameters/session"}},
			"put": withQuery(withBody(operation("openSession", "sessions", "Open a session, or check that the open one has the given settings.",
				"The settings cannot be changed while the session is open. The browser starts with the first call.", withErrors(jsonObject{
					"204": jsonObject{"description": "The session is open."},
				})), schemaRef("Settings"), true), "keep", "boolean", "Whether the session has no idle timeout. No effect over TCP."),
			"delete": operation("closeSession", "sessions", "Close a session and its browser.", "", withErrors(jsonObject{
				"204": jsonObject{"description": "The session is closed."},
			})),
		},
		"/v1/tools": jsonObject{
			"get": operation("listTools", "tools", "List the tools of all toolsets.", "", jsonObject{
				"200": jsonResponse("The tools.", arrayOf(schemaRef("Tool"))),
			}),
		},
		"/v1/openapi.json": jsonObject{
			"get": operation("getOpenAPI", "tools", "Get this document.", "", jsonObject{
				"200": jsonResponse("An OpenAPI 3.1 document.", jsonObject{"type": "object"}),
			}),
		},
	}
	tags := []any{
		jsonObject{"name": "sessions", "description": "Named browser sessions."},
		jsonObject{"name": "tools", "description": "What the server offers."},
	}
	for _, set := range toolsets {
		tags = append(tags, jsonObject{"name": "toolset " + string(set.name), "description": set.desc})
		for _, t := range set.tools {
			paths[toolPath(t.name)] = t.openAPI("toolset " + string(set.name))
		}
	}
	doc, err := json.Marshal(jsonObject{
		"openapi": "3.1.0",
		"info": jsonObject{
			"title": "chrome-mcp", "version": version,
			"description": "Browser tools in named sessions.\n\nA tool has a kind: " + kindsLegend,
			"license":     jsonObject{"name": "MIT", "identifier": "MIT"},
		},
		"servers":  []any{jsonObject{"url": "/"}},
		"security": []any{jsonObject{"bearer": []any{}}, jsonObject{}},
		"tags":     tags,
		"paths":    paths,
		"components": jsonObject{
			"securitySchemes": jsonObject{"bearer": jsonObject{
				"type": "http", "scheme": "bearer", "description": "Required over TCP. The Unix socket needs no token.",
			}},
			"parameters": jsonObject{"session": jsonObject{
				"name": "name", "in": "path", "required": true, "description": "The name of the session.", "schema": jsonObject{"type": "string"},
			}},
			"headers": jsonObject{"Retry-After": jsonObject{
				"description": "Seconds to wait before the same call, if retryable is true.", "schema": jsonObject{"type": "integer", "minimum": 1},
			}},
			"responses": errorResponses(),
			"schemas":   sharedSchemas(),
		},
	})
	if err != nil {
		panic(err) // only strings, maps and the schemas of the table
	}
	return doc
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
	required := false
	for _, p := range paramsOf(t.args) {
		required = required || p.required
	}
	body := jsonObject{
		"type": "object", "required": []any{"text"},
		"properties": jsonObject{
			"text":   jsonObject{"type": "string", "description": "The result as text for a model."},
			"result": json.RawMessage(outputSchema(t.result)),
			"images": arrayOf(schemaRef("Image")),
			"note":   schemaRef("Note"),
		},
	}
	call := operation(t.name, tag, t.desc, details, withErrors(jsonObject{"200": jsonResponse("The tool succeeded.", body)}))
	return jsonObject{
		"parameters": []any{jsonObject{"$ref": "#/components/parameters/session"}},
		"post":       withBody(call, json.RawMessage(inputSchema(t.args)), required),
	}
}

// sharedSchemas are the schemas that several operations use.
func sharedSchemas() jsonObject {
	text := jsonObject{"type": "string"}
	described := func(description string) jsonObject {
		return jsonObject{"type": "string", "description": description}
	}
	object := func(properties jsonObject, required ...any) jsonObject {
		return jsonObject{"type": "object", "properties": properties, "required": required}
	}
	date := jsonObject{"type": "string", "format": "date-time"}
	var codes []any
	for _, code := range executor.Codes() {
		codes = append(codes, code)
	}
	return jsonObject{
		"Session": object(jsonObject{
			"name": text, "started": date, "used": date,
			"ends": jsonObject{"type": "string", "format": "date-time", "description": "When the server closes the session unless it is used."},
		}, "name", "started", "used"),
		"Settings": jsonObject{
			"type": "object", "additionalProperties": arrayOf(jsonObject{"type": "string"}),
			"description": "The flags of the program that apply to a session, each with a list of values.",
			"examples":    []any{jsonObject{"--allow-domain": []any{"example.com"}, "--enable-mutations": []any{"true"}}},
		},
		"Tool": object(jsonObject{
			"name": text, "description": text, "toolset": text,
			"inputSchema": jsonObject{"type": "object"}, "outputSchema": jsonObject{"type": "object"},
		}, "name", "description", "toolset", "inputSchema", "outputSchema"),
		"Image": object(jsonObject{
			"mimeType": text, "data": jsonObject{"type": "string", "contentEncoding": "base64"},
		}, "mimeType", "data"),
		"Note":    described("What happened since the last call, such as a backend switch. The text contains it."),
		"Failure": object(jsonObject{"error": schemaRef("Error"), "note": schemaRef("Note")}, "error"),
		"Error": object(jsonObject{
			"code":      jsonObject{"type": "string", "enum": codes},
			"message":   described("What happened."),
			"hint":      described("What to do next."),
			"retryable": jsonObject{"type": "boolean", "description": "Whether the same call may succeed later."},
			"candidates": arrayOf(object(jsonObject{
				"role": text, "name": described("Text of the page."), "ref": text,
			}, "role", "name", "ref")),
			"id": described("Of an internal error. The log entry has the same id."),
		}, "code", "message", "retryable"),
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
	responses := jsonObject{
		responseName(http.StatusUnauthorized): jsonResponse("POLICY_DENIED: the request has no valid token.", schemaRef("Failure")),
		"Rejected": jsonResponse(
			fmt.Sprintf("BAD_ARGS: wrong method (405), a body of more than %d MiB, or 4 MiB over TCP (413), or a content type other than JSON (415). "+
				"NO_BACKEND: the server is stopping (503).", maxLine>>20),
			schemaRef("Failure")),
	}
	for status, codes := range causes {
		response := jsonResponse(strings.Join(codes, ", ")+".", schemaRef("Failure"))
		if status == http.StatusTooManyRequests {
			response["headers"] = jsonObject{"Retry-After": jsonObject{"$ref": "#/components/headers/Retry-After"}}
		}
		responses[responseName(status)] = response
	}
	return responses
}

func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// withErrors adds the error responses to those of an operation.
func withErrors(responses jsonObject) jsonObject {
	add := func(status int) {
		responses[strconv.Itoa(status)] = jsonObject{"$ref": "#/components/responses/" + responseName(status)}
	}
	add(http.StatusUnauthorized)
	for _, code := range executor.Codes() {
		add(errclass.Of(code).Status)
	}
	responses["default"] = jsonObject{"$ref": "#/components/responses/Rejected"}
	return responses
}

func operation(id, tag, summary, description string, responses jsonObject) jsonObject {
	op := jsonObject{"operationId": id, "tags": []any{tag}, "summary": summary, "responses": responses}
	if description != "" {
		op["description"] = description
	}
	return op
}

// withBody adds a JSON request body to an operation.
func withBody(op jsonObject, schema any, required bool) jsonObject {
	op["requestBody"] = jsonObject{"required": required, "content": jsonObject{"application/json": jsonObject{"schema": schema}}}
	return op
}

// withQuery adds a query parameter to an operation.
func withQuery(op jsonObject, name, typ, description string) jsonObject {
	op["parameters"] = []any{jsonObject{"name": name, "in": "query", "description": description, "schema": jsonObject{"type": typ}}}
	return op
}

func jsonResponse(description string, schema jsonObject) jsonObject {
	return jsonObject{"description": description, "content": jsonObject{"application/json": jsonObject{"schema": schema}}}
}

func arrayOf(items jsonObject) jsonObject { return jsonObject{"type": "array", "items": items} }

func schemaRef(name string) jsonObject { return jsonObject{"$ref": "#/components/schemas/" + name} }
