package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// maxMCPBody bounds the body of an MCP request, in bytes. It is the maximum length of a message
	// of package mcp.
	maxMCPBody = 10 << 20
	// maxBody bounds the body of other requests, in bytes.
	maxBody = 4 << 20
	// bodyTimeout is the time in which the body of a request must arrive.
	bodyTimeout = 30 * time.Second
)

const (
	// maxBodies bounds the bodies of the running requests of one principal, in bytes.
	maxBodies = 64 << 20
	// maxUnsent bounds what one principal has not read of the responses to its requests, in bytes. A
	// result in memory takes about three times the length of its response.
	maxUnsent = 64 << 20
)

// A byteBudget limits the memory of request bodies, or of responses. It is safe for concurrent use.
type byteBudget struct {
	what  string // in plural, for the error
	limit int64  // for one principal, in bytes

	mu   sync.Mutex // guards used
	used map[string]int64
}

// add adds n bytes to those of a principal; n may be negative. It returns ErrBackpressure, and adds
// nothing, if that exceeds the limit.
func (b *byteBudget) add(principal string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > 0 && b.used[principal]+n > b.limit {
		return errBusy("%s exceed %d MiB", b.what, b.limit>>20)
	}
	if b.used == nil {
		b.used = map[string]int64{}
	}
	b.used[principal] += n
	return nil
}

// reservedSize returns the number of bytes to reserve before the body of a request is read: its
// Content-Length, or the limit if that is unknown or larger.
func reservedSize(r *http.Request) int64 {
	if limit := bodyLimit(r); r.ContentLength < 0 || r.ContentLength > limit {
		return limit
	}
	return r.ContentLength
}

// bodyLimit returns the maximum length of the body of a request, in bytes.
func bodyLimit(r *http.Request) int64 {
	if r.URL.Path == mcpPath {
		return maxMCPBody
	}
	return maxBody
}

// A bodyTooLargeError reports that a body is larger than its limit, in bytes.
type bodyTooLargeError int64

func (e bodyTooLargeError) Error() string {
	return fmt.Sprintf("the body is larger than %d MiB", int64(e)>>20)
}

// maxValues bounds the values in a JSON body. In memory, a short value takes up to 40 times its
// length.
const maxValues = 100_000

// errTooManyValues reports that a body has more than maxValues values.
var errTooManyValues = fmt.Errorf("the body has more than %d JSON values", maxValues)

// values returns the number of commas, arrays and objects in a JSON text. Its values are not more,
// except for the members of objects and arrays with one member.
func values(data []byte) (n int) {
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case !inString && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// readBody reads the body of a request into memory, replaces r.Body, and returns the number of
// bytes. The caller has set a read deadline, which readBody clears on success.
func readBody(w http.ResponseWriter, r *http.Request) (size int64, err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return 0, nil
	}
	limit := bodyLimit(r)
	if r.ContentLength > limit {
		return 0, bodyTooLargeError(limit)
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return 0, bodyTooLargeError(limit)
	}
	if err != nil {
		return 0, err
	}
	if values(data) > maxValues {
		return 0, errTooManyValues
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return int64(len(data)), http.NewResponseController(w).SetReadDeadline(time.Time{})
}
