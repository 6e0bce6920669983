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

// Limits of native messages, without their length prefix. Browsers accept up to 1 MiB.
const (
	maxNativeRequest  = 64 << 10
	maxNativeResponse = 1 << 20
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

type nativeResponse struct {
	V       int            `json:"v"`
	Servers []nativeServer `json:"servers"`
}

// A nativeChange reports that the list of servers has changed.
type nativeChange struct {
	V       int  `json:"v"`
	Changed bool `json:"changed"`
}

type nativeError struct {
	V     int    `json:"v"`
	Error string `json:"error"`
}

// nativeInterval is how often the native messaging host checks for started and stopped servers, so
// that an agent's first call finds its browser. A check reads a few small files.
const nativeInterval = 500 * time.Millisecond

// ServeNative runs the native messaging host. The browser started it for the extension at origin,
// which has the form chrome-extension://<id>/. ServeNative returns an error for any extension other
// than extensionID.
//
// It reads requests from in and writes the list of running servers to out. When the list changes,
// it writes a notification, so that the extension can send another request. It returns nil when in
// ends. Its errors are not [errs.Error] values. After an error that is not caused by in, a
// goroutine may read from in once more.
func ServeNative(dataDir, extensionID, origin string, in io.Reader, out io.Writer) error {
	if origin != "chrome-extension://"+extensionID+"/" {
		return errors.New("the caller is not the chrome-mcp extension")
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
				return nil // the extension or its browser exited
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

// A nativeHost serves one browser.
type nativeHost struct {
	dataDir     *dataDirectory
	extensionID string
	out         io.Writer
	lastServers []nativeServer // of the last response or notification
}

func (h *nativeHost) answer(request nativeRequest, err error) error {
	if err != nil {
		return err
	}
	if request.V != wire.Version {
		return writeNative(h.out, nativeError{wire.Version, (&wire.VersionError{Got: fmt.Sprint(request.V)}).Error()})
	}
	if request.Type != "servers" {
		return writeNative(h.out, nativeError{wire.Version, "unknown request type"})
	}
	h.lastServers = h.servers()
	return writeNative(h.out, nativeResponse{wire.Version, h.lastServers})
}

// poll notifies the extension if the list of servers has changed.
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
	for _, r := range h.dataDir.runningServers() {
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
		return request, fmt.Errorf("the request is truncated: %w", err)
	}
	if err := json.Unmarshal(data, &request); err != nil {
		return request, errors.New("the request is malformed")
	}
	return request, nil
}

func writeNative(out io.Writer, message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if len(data) > maxNativeResponse {
		return fmt.Errorf("a response of %d bytes is too long", len(data))
	}
	_, err = out.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}
