// Package toolschema derives the JSON schemas of a tool's arguments and result from Go structs, and
// decodes arguments into these structs.
package toolschema
