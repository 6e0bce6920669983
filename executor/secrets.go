package executor

import "context"

// Secrets holds the credentials that a session may type without its client seeing them. In the text
// of [Actor.Type] and the values of [Actor.FillForm], {{name.field}} is replaced by a field of one
// of them. Its methods are safe for concurrent use.
type Secrets interface {
	// List returns the secrets without their values.
	List(ctx context.Context) ([]SecretInfo, error)
	// Find returns a field of a secret, without reading its value. ok is false if it does not exist.
	Find(ctx context.Context, name, field string) (s *SecretField, ok bool, err error)
}

// SecretInfo describes a secret.
type SecretInfo struct {
	Name    string
	Fields  []string
	Origins []string
}

// A SecretField is one field of a secret.
type SecretField struct {
	Name, Field string
	// Origins are the origins in whose documents it may be typed.
	Origins []string
	// Selector is a CSS selector of the fields in which it may be typed, in addition to those for
	// passwords and one-time codes; may be empty.
	Selector string
	// Value reads the value. From then on, every result is masked.
	Value func(ctx context.Context) (string, error)
}
