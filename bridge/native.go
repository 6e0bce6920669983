package bridge

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/chrome-mcp/chrome-mcp/internal/wire"
)

// Native messages have their length before them. Browsers take up to 1 MiB.
const (
	maxNativeRequest = 64 << 10
	maxNativeAnswer  = 1 << 20
)

type nativeRequest struct {
	V    int    `json:"v"`
	Type string `json:"type"`
}

type nativeServer struct {
	Port    int    `json:"port"`
	Token   string `json:"token"`
	PID     int    `json:"pid"`
	Name    string `json:"name"`
	Started int64  `json:"started"` // in milliseconds since 1970
}

type nativeAnswer struct {
	V       int            `json:"v"`
	Servers []nativeServer `json:"servers"`
}

// A nativeChange says that the answer would be another one now.
type nativeChange struct {
	V       int  `json:"v"`
	Changed bool `json:"changed"`
}

type nativeError struct {
	V     int    `json:"v"`
	Error string `json:"error"`
}

// nativeInterval is how often the host looks for servers that came or went: a
// glance at a few small files, so that an agent's first call finds its browser.
const nativeInterval = 500 * time.Millisecond

// ServeNative is the native messaging host: a browser has started it for the
// extension at origin, as chrome-extension://<id>/. It answers each request
// from in with the servers that run, on out; it says when that has changed, so
// that the extension can ask again; and it returns when in ends. It tells
// nothing to another extension than extensionID. Its errors are plain ones;
// after one that is not of in, in is read once more.
func ServeNative(dataDir, extensionID, origin string, in io.Reader, out io.Writer) error {
	if origin != "chrome-extension://"+extensionID+"/" {
		return errors.New("the caller is not the extension of chrome-mcp")
	}
	h := &nativeHost{&dataDirectory{dataDir}, extensionID, out, nil}
	if err := h.answer(readNative(in)); err != nil {
		return err
	}
	type read struct {
		request nativeRequest
		err     error
	}
	requests, done := make(chan read), make(chan struct{})
	defer close(done)
	go func() {
		for err := error(nil); err == nil; {
			var r read
			r.request, err = readNative(in)
			r.err = err
			select {
			case requests <- r:
			case <-done:
				return
			}
		}
	}()
	tick := time.NewTicker(nativeInterval)
	defer tick.Stop()
	for {
		var err error
		select {
		case r := <-requests:
			if errors.Is(r.err, io.EOF) {
				return nil // the extension or its browser ended
			}
			err = h.answer(r.request, r.err)
		case <-tick.C:
			err = h.poll()
		}
		if err != nil {
			return err
		}
	}
}

// A nativeHost answers one browser.
type nativeHost struct {
	folder      *dataDirectory
	extensionID string
	out         io.Writer
	lastServers []nativeServer // what the extension knows, or was told to ask for
}

func (h *nativeHost) answer(request nativeRequest, err error) error {
	if err != nil {
		return err
	}
	if request.V != wire.Version {
		return writeNative(h.out, nativeError{wire.Version, (&wire.VersionError{Got: fmt.Sprint(request.V)}).Error()})
	}
	if request.Type != "servers" {
		return writeNative(h.out, nativeError{wire.Version, "the request is not known"})
	}
	h.lastServers = h.servers()
	return writeNative(h.out, nativeAnswer{wire.Version, h.lastServers})
}

// poll says when there is something to ask for.
func (h *nativeHost) poll() error {
	now := h.servers()
	if slices.Equal(now, h.lastServers) {
		return nil
	}
	h.lastServers = now
	return writeNative(h.out, nativeChange{wire.Version, true})
}

func (h *nativeHost) servers() []nativeServer {
	list := []nativeServer{}
	for _, r := range h.folder.live() {
		if r.ExtensionID == h.extensionID {
			list = append(list, nativeServer{r.Port, r.Token, r.PID, r.Name, r.Started})
		}
	}
	return list
}

func readNative(in io.Reader) (request nativeRequest, err error) {
	var size uint32
	if err := binary.Read(in, binary.LittleEndian, &size); err != nil {
		return request, fmt.Errorf("no request: %w", err)
	}
	if size > maxNativeRequest {
		return request, fmt.Errorf("a request of %d bytes is too long", size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(in, data); err != nil {
		return request, fmt.Errorf("the request is cut off: %w", err)
	}
	if err := json.Unmarshal(data, &request); err != nil {
		return request, errors.New("the request is malformed")
	}
	return request, nil
}

func writeNative(out io.Writer, answer any) error {
	data, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	if len(data) > maxNativeAnswer {
		return fmt.Errorf("an answer of %d bytes is too long", len(data))
	}
	_, err = out.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}
